"""Walking through a message in host memory: inline pieces first, then page entries fetched ahead
(NP-44, NP-48).

Everything that the host wrote is checked where it is used, after the last moment at which the host
could change it: a piece must lie in one page (NP-51) of the endpoint's window. A page entry without a
first piece ends the message early.
"""

from lanai_firmware.lang import Ptr, address_of, firmware, inline, null, offset_of, sizeof, u32

from ....nic import host_dma, window
from ..layout import PAGE, PageEntry, Piece
from ..rows import Cursor, Endpoint
from ..state import Nic, nic
from .hostdma import download, finish, upload


@inline
def allowed(endpoint: Ptr[Endpoint], address: u32, length: u32) -> bool:
    """Is this run of host memory one that the endpoint may use? It has a byte or more, and lies in one page
    of the endpoint's window."""
    return window.holds(endpoint.window, endpoint.window_mask, address, length, PAGE)


@inline
def other(cursor: Ptr[Cursor]) -> Ptr[PageEntry]:
    """The entry that is not current."""
    return address_of(cursor.entries[cursor.side ^ 1])


@firmware
def fetch(endpoint: Ptr[Endpoint], cursor: Ptr[Cursor], index: u32) -> None:
    """Begin to fetch page entry `index` into the side that is not current. An index out of the
    table fetches none."""
    cursor.more = 0
    if index != 0 and index < endpoint.page_entries:
        download(u32(other(cursor)), endpoint.page_table + index * sizeof(PageEntry), sizeof(PageEntry))
        cursor.fetched = nic.hdma
        cursor.more = 1
        if nic.mark_entries != 0:
            upload(
                u32(address_of(nic)) + offset_of(Nic, "mark"),
                endpoint.page_table + index * sizeof(PageEntry) + offset_of(PageEntry, "used"),
                4,
            )


@firmware
def open_piece(endpoint: Ptr[Endpoint], cursor: Ptr[Cursor], piece: u32) -> bool:
    """Make a piece of the current entry the place to take bytes from. False, and nothing left, if
    it is not allowed."""
    entry = address_of(cursor.entries[cursor.side])
    address = entry.pieces[piece].address
    length = entry.pieces[piece].length
    cursor.piece = piece
    cursor.address = address
    cursor.left = 0
    if not allowed(endpoint, address, length):
        cursor.piece = 3  # nothing may follow: it would land in the wrong place
        cursor.more = 0
        return False
    cursor.left = length
    return True


@firmware
def next_piece(endpoint: Ptr[Endpoint], cursor: Ptr[Cursor]) -> bool:
    """Go on to the next piece; waits for its entry if that is on the way. False if there is no
    more, or none allowed."""
    piece = cursor.piece + 1
    if piece > 3 or cursor.entries[cursor.side].pieces[piece].length == 0:
        if cursor.more == 0:
            cursor.left = 0
            return False
        finish(cursor.fetched)
        cursor.side ^= 1
        piece = u32(0)
        fetch(endpoint, cursor, cursor.entries[cursor.side].next)
    return open_piece(endpoint, cursor, piece)


@firmware(inline=False)
def peek(endpoint: Ptr[Endpoint], cursor: Ptr[Cursor]) -> Ptr[Piece]:
    """The piece behind the one that is open, if it is here and may be used; else null."""
    entry = address_of(cursor.entries[cursor.side])
    number = cursor.piece + 1
    if number > 3 or entry.pieces[number].length == 0:
        if cursor.more == 0 or not host_dma.reached(cursor.fetched):
            return null(Piece)
        entry = other(cursor)
        number = u32(0)
    piece = address_of(entry.pieces[number])
    if not allowed(endpoint, piece.address, piece.length):
        return null(Piece)
    return piece


@firmware(inline=False)
def skip(endpoint: Ptr[Endpoint], cursor: Ptr[Cursor], length: u32) -> None:
    """The next `length` bytes, which reach no further than into the piece behind the open one, have
    been dealt with."""
    if length > cursor.left:
        length -= cursor.left
        next_piece(endpoint, cursor)
    take(cursor, length)


@inline
def take(cursor: Ptr[Cursor], length: u32) -> None:
    """The next `length` bytes, at most `cursor.left`, have been dealt with."""
    cursor.address += length
    cursor.left -= length
