"""Puts, gets and atomics under way at a device, and the store barriers that wait for them."""

from dataclasses import dataclass

from lanai_hdl.remote.packets import Atomic, Op, Status

from ..body import NOTHING, Body
from ..bus.base import Watched
from ..operation import DeviceError, ErrorKind, Operation
from .commands import Command
from .lending import Lent
from .operation import REASONS, RemoteOperation, Token

KINDS = {Status.LOST: ErrorKind.PEER_FAILED, Status.BUS: ErrorKind.BUS_ERROR, Status.PAGE: ErrorKind.BUS_ERROR}
VERBS = {
    Op.WRITE: ("put", "to"),
    Op.READ: ("get", "from"),
    Op.ATOMIC: ("atomic", "at"),
    Op.APPEND: ("signal", "to"),
    Op.RETRY: ("signal", "to"),
}


class Transfer(Operation):
    """A put, get, signal or atomic, which commands carry out piece by piece.

    Attributes:
        op, rank, token, offset, body: from whose memory to whose.
        begun: bytes of the body that commands have been started for.
        under_way: commands that have not ended.
        lends: some of its commands name the body's own memory.
        own: of the device's own, which looks at its error itself: no barrier tells of that. The target's
            last word may be overwritten as a whole.
        by_processor: it is stored or loaded, as far as whole words go.
    """

    __slots__ = ("begun", "body", "by_processor", "lends", "offset", "op", "own", "rank", "token", "under_way")

    def __init__(
        self,
        op: Op,
        rank: int,
        token: Token,
        offset: int,
        body: Body,
        own: bool = False,
        by_processor: bool = False,
    ) -> None:
        super().__init__(rank)
        self.op = op
        self.rank = rank
        self.token = token
        self.offset = offset
        self.body = body
        self.length = body.size
        self.begun = 0
        self.under_way = 0
        self.lends = False
        self.own = own
        self.by_processor = by_processor

    @property
    def what(self) -> str:
        """For errors."""
        verb, preposition = VERBS[self.op]
        return f"{verb} of {self.length} bytes {preposition} offset {self.offset} of memory of rank {self.rank}"

    def piece(self, size: int, local: int, local_offset: int) -> Command:
        """The command for its next `size` bytes."""
        return Command(self.op, self.token, self.offset + self.begun, size, local, local_offset)

    @property
    def finished(self) -> bool:
        """All commands for it have ended."""
        return self.begun == self.length and not self.under_way

    def fail(self, kind: ErrorKind, text: str) -> None:
        """It has failed; nothing more of it is begun. The first error counts."""
        self.begun = self.length
        if self.error is None:
            self.error = DeviceError(kind, text)

    def end_piece(self, status: Status, lost: str | None) -> None:
        """One of its commands has ended. `lost`: why its rank can be reached no more, if it is known to be lost."""
        self.under_way -= 1
        if status is Status.OK:
            return
        if lost is not None:
            self.fail(ErrorKind.PEER_FAILED, f"{self.what}: {lost}")
        else:
            self.fail(KINDS.get(status, ErrorKind.BAD_REQUEST), f"{self.what}: {REASONS[status]}")

    def end(self) -> None:
        """Its memory is the program's again."""
        self.done = True
        self.body = NOTHING


class AtomicTransfer(Transfer):
    """An atomic on `size` bytes. `result`: the address that what was there before goes to."""

    __slots__ = ("atomic", "comparand", "operand", "result")

    def __init__(
        self,
        rank: int,
        token: Token,
        offset: int,
        atomic: Atomic,
        size: int,
        operand: int,
        comparand: int,
        result: int,
    ) -> None:
        super().__init__(Op.ATOMIC, rank, token, offset, NOTHING)
        self.length = size
        self.atomic = atomic
        self.operand = operand
        self.comparand = comparand
        self.result = result

    def command(self) -> Command:
        return Command(
            self.op,
            self.token,
            self.offset,
            self.length,
            atomic=self.atomic,
            operand=self.operand,
            comparand=self.comparand,
        )


@dataclass
class Piece:
    """The part of a transfer that one command moves.

    Attributes:
        operation: the command.
        begin, end: bytes of the transfer's body.
        lent: the program's memory that it names; None if it names the staging page of its buffer.
        stage: address of that page.
    """

    operation: RemoteOperation
    transfer: Transfer
    begin: int
    end: int
    lent: Lent | None
    stage: int


@dataclass
class Stored:
    """Accesses by the processor to one rank's memory, whose outcome one NOP command tells (SC-05).

    Attributes:
        own: of transfers of the device's own; they do not share a NOP with others, which may fail by themselves.
        operation: the NOP, once it has begun.
    """

    rank: int
    own: bool
    transfers: list[Transfer]
    operation: RemoteOperation | None = None


class WordWatch(Operation):
    """Done when a word of this process's has changed."""

    __slots__ = ("word",)

    def __init__(self, word: Watched) -> None:
        super().__init__()
        self.word = word


class Barrier(Operation):
    """Done when all transfers that it waits for have finished. `rank`: whose; None for all."""

    __slots__ = ("rank", "waits_for")

    def __init__(self, rank: int | None, waits_for: set[Transfer]) -> None:
        super().__init__()
        self.rank = rank
        self.waits_for = waits_for
