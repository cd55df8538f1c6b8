"""Transfers by the processor itself (SC-20): stores of a body's bytes, and loads, through the aperture. Nothing here
waits for the peer but a load.

The aperture takes whole words. What is not in them at a target of the program's is left to commands.
"""

from lanai_hdl.remote.packets import Op

from .. import process_memory
from ..body import Body
from .aperture import MOST_MAPPED, ApertureAccess
from .token import Token
from .transfers import Stored, Transfer

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
