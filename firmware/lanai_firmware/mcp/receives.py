"""A receive entry: what it keeps of its request."""

from lanai_firmware.lang import Ptr, address_of, inline, minimum, u32

from .cursor import open_piece
from .layout import Request
from .state import Receive


@inline
def fill_receive(receive: Ptr[Receive], request: Ptr[Request], operation: u32) -> None:
    """Copy what a receive needs later out of the host's reach."""
    receive.operation = operation
    receive.limit = request.limit
    cursor = address_of(receive.cursor)
    cursor.side = u32(0)
    cursor.more = u32(0)
    entry = address_of(cursor.entries[0])
    entry.pieces[0].address = request.pieces[0].address
    entry.pieces[0].length = request.pieces[0].length
    entry.pieces[1].address = request.pieces[1].address
    entry.pieces[1].length = request.pieces[1].length
    entry.pieces[2].length = u32(0)
    entry.next = request.table
    open_piece(receive.endpoint, cursor, u32(0))
    receive.whole = minimum(cursor.left, receive.limit)
