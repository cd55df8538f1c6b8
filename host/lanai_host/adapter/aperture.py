"""Stores and loads: a peer's memory, mapped into the host's window of the NIC."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Op, word
from lanai_hdl.remote.tables import APERTURE_PAGES, MapPlaceWord, MapWord, aperture_at, map_at

from .. import process_memory
from ..body import Body
from ..bus.base import PAGE_SIZE, Bus
from .operation import Token
from .transfers import Stored, Transfer

MOST_MAPPED = PAGE_SIZE << MapPlaceWord.fields["page"].width  # bytes of an exposure that maps can name


class _Page(NamedTuple):
    """A page of an exposure, as a map names it."""

    node: int
    exposure: int
    key: int
    page: int
    relaxed: bool  # stores to it may take effect in any order


class ApertureAccess:
    """A process's part of the aperture. Pages are mapped when they are stored to or read; the one
    that was used least recently makes room.

    Stores are posted: what has become of them, the next NOP command tells. It tells of loads too,
    as one that has failed gives all ones.

    Attributes:
        unsettled: there may be accesses of which no NOP has told yet.
    """

    def __init__(self, bus: Bus, config: Remote, process: int) -> None:
        self._bus = bus
        self._config = config
        self._process = process
        self._mapped: dict[_Page, int] = {}  # the number of its page of the aperture; least recently used first
        self.unsettled = False

    def store(self, token: Token, offset: int, data: bytes, relaxed: bool = False) -> None:
        """Write whole words to byte `offset` of the target, combined as the bus can."""
        self._check(token, offset, "data", len(data), "put")
        done = 0
        for place, size in self._pieces(token, offset, len(data), relaxed):
            self._bus.write_block(place, data[done : done + size])
            done += size

    def load(self, token: Token, offset: int, size: int) -> bytes:
        """Whole words from byte `offset` of the target on. Each takes a round trip to its NIC."""
        self._check(token, offset, "size", size, "get")
        found = b""
        for place, piece in self._pieces(token, offset, size):
            found += self._bus.read_block(place, piece)
        return found

    def _check(self, token: Token, offset: int, name: str, size: int, other: str) -> None:
        if not self._config.streams:
            raise UserError(f"this adapter has no aperture; take Remote(streams=4), or `{other}`")
        for what, value in (("offset", token.first + offset), (name, size)):
            if value % 4:
                raise UserError(f"{what}: {value} bytes are not whole words of 4; `{other}` moves any bytes")
        if not 0 <= offset <= token.size - size:
            raise UserError(f"offset={offset!r}: {size} bytes from there on are not within the target's {token.size}")

    def _pieces(self, token: Token, offset: int, size: int, relaxed: bool = False) -> Iterator[tuple[int, int]]:
        """(offset in the host's window, bytes) of each piece of the target that lies in one page, which
        is mapped."""
        at, end = token.first + offset, token.first + offset + size
        while at < end:
            page, inside = divmod(at, PAGE_SIZE)
            piece = min(end - at, PAGE_SIZE - inside)
            number = self._map(_Page(token.node, token.exposure, token.key, page, relaxed))
            self.unsettled = True
            yield aperture_at(self._process, number) + inside, piece
            at += piece

    def _map(self, page: _Page) -> int:
        """The page of the aperture that is mapped to a page."""
        number = self._mapped.pop(page, None)
        if number is None:
            number = len(self._mapped)
            if number == APERTURE_PAGES:
                number = self._mapped.pop(next(iter(self._mapped)))
            self._bus.write_block(map_at(self._process, number), _map_words(page))
        self._mapped[page] = number
        return number


@lru_cache(maxsize=1024)  # a process maps the same pages again and again
def _map_words(page: _Page) -> bytes:
    """Return what maps a page of the aperture to a page."""
    place = word(MapPlaceWord, key=page.key, page=page.page)
    words = (word(MapWord, valid=1, peer=page.node, exposure=page.exposure, relaxed=page.relaxed), place)
    return b"".join(one.to_bytes(4, "big") for one in words)


# Transfers by the processor itself (SC-20): stores of a body's bytes, and loads, through the aperture. Nothing here
# waits for the peer but a load.
#
# The aperture takes whole words. What is not in them at a target of the program's is left to commands.

WORD = 4
FAILED = b"\xff" * WORD  # a load that has failed gives this, and a word may hold it


class Storing:
    """Stores and loads of one process. Its accesses to one rank are gathered until a NOP command is to tell what has
    become of them.

    Attributes:
        gathered: the accesses of which no NOP has been asked; None if there are none.
    """

    def __init__(self, aperture: ApertureAccess) -> None:
        self._aperture = aperture
        self.gathered: Stored | None = None

    def bytes_of(self, transfer: Transfer) -> int:
        """Return how many of the next bytes of a transfer the processor moves. 0: a command must move the next ones."""
        at, left = transfer.token.first + transfer.offset + transfer.begun, transfer.length - transfer.begun
        if not transfer.by_processor or at + left > MOST_MAPPED:
            return 0
        if transfer.op is Op.READ:
            return left if _whole(transfer.token, transfer.offset, left) else 0
        if at % WORD:
            return 0
        return left if transfer.own else left // WORD * WORD

    def command_bytes(self, transfer: Transfer) -> int | None:
        """Return how many of the next bytes a command moves before the processor goes on; None: all of them."""
        at, left = transfer.token.first + transfer.offset + transfer.begun, transfer.length - transfer.begun
        head = -at % WORD
        if not transfer.by_processor or transfer.op is not Op.WRITE or at + left > MOST_MAPPED or left < head + WORD:
            return None
        return head or None

    def joins(self, transfer: Transfer) -> bool:
        """Return whether one NOP may tell of what is gathered and of this transfer."""
        gathered = self.gathered
        return gathered is None or (gathered.rank, gathered.own) == (transfer.rank, transfer.own)

    def move(self, transfer: Transfer, size: int) -> None:
        """Store or load the next bytes of a transfer. Raises BusError if the program's memory cannot be reached."""
        begin = transfer.begun
        transfer.begun += size
        if transfer.op is Op.WRITE:
            self._gather(transfer)
            self._store(transfer.token, transfer.offset + begin, transfer.body, begin, begin + size, transfer.own)
        else:
            self._load(transfer, begin, size)

    def take(self) -> Stored | None:
        """Return what is gathered, which is so no more."""
        gathered, self.gathered = self.gathered, None
        return gathered

    def _gather(self, transfer: Transfer) -> None:
        if self.gathered is None:
            self.gathered = Stored(transfer.rank, transfer.own, [])
        self.gathered.transfers.append(transfer)
        transfer.under_way += 1

    def _store(self, token: Token, offset: int, body: Body, begin: int, end: int, pads: bool) -> None:
        """Store each block from where it lies (SC-10). Bytes of a word that lie in several blocks leave together."""
        rest = b""
        for address, size in body.segments(begin, end):
            data = rest + process_memory.read(address, size)
            whole = len(data) // WORD * WORD
            if whole:
                self._aperture.store(token, offset, data[:whole])
            offset, rest = offset + whole, data[whole:]
        if pads and rest:
            self._aperture.store(token, offset, rest.ljust(WORD, b"\0"))

    def _load(self, transfer: Transfer, begin: int, size: int) -> None:
        first = transfer.offset + begin
        lead = (transfer.token.first + first) % WORD
        words = self._aperture.load(transfer.token, first - lead, lead + size + -(lead + size) % WORD)
        if any(words[at : at + WORD] == FAILED for at in range(0, len(words), WORD)):
            self._gather(transfer)
        transfer.body.part(begin, begin + size).write(words[lead : lead + size])


def _whole(token: Token, offset: int, size: int) -> bool:
    """Return whether the words that hold these bytes are all within the target."""
    first = token.first + offset
    begin, end = first // WORD * WORD, -(-(first + size) // WORD) * WORD
    return token.first <= begin and end <= token.first + token.size
