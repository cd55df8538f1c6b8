"""The command buffers of a process: commands begin in any number that there is room for, and end in
order, each with a status (MB-04)."""

import struct
from collections import deque
from collections.abc import Sequence, Sized
from functools import lru_cache
from typing import NamedTuple

from lanai_hdl.remote.messages import Again
from lanai_hdl.remote.packets import WIDE_BYTES, Atomic, Condition, Op, Order, Status, word
from lanai_hdl.remote.tables import (
    COMMAND_FIELDS,
    COMMANDS,
    COMPARAND_HIGH,
    FIRST_OF_HEAD,
    FLAG_AT,
    FLAG_BYTES,
    OPERAND_HIGH,
    RESULT_AT,
    TAG_BITS,
    WIDE_RESULT_AT,
    CommandWord,
    FlagWord,
    command_at,
)

from ..bus.base import Bus, HostBuffer, KnownPoll, Watched
from ..config import HostCost
from ..host_model.meter import Meter
from .operation import RemoteOperation, Token

MASK = (1 << 32) - 1
STATUS, TAG_AT = FlagWord.fields["status"].most, FlagWord.fields["tag"].first  # the tag fills the word's upper bits
FLAG = struct.Struct(">I")
STATUSES = {one.value: one for one in Status}  # a look-up is quicker than a call of `Status`
SENDS = (Op.WRITE, Op.APPEND, Op.RETRY, Op.QUIET, Op.SEND)  # bytes leave with the command


class Command(NamedTuple):
    """A command to the adapter.

    Members:
        token, offset: the target's memory, and a byte of it.
        size: bytes; of an ATOMIC 4 or 8.
        local, local_offset: number of the exposure that holds this process's memory, and a byte of
            its pages.
        relaxed: of a WRITE: its packets may take effect in any order.
        bound: of a WRITE: if it is refused, so is the next conditional record to that NIC.
        conditional: of an APPEND or RETRY: it is refused if a WRITE was that is `bound`, since the
            last record that was conditional.
        again: of a SEND: it is the oldest of those that were refused for want of room.
    """

    op: Op
    token: Token
    offset: int
    size: int
    local: int = 0
    local_offset: int = 0
    atomic: Atomic = Atomic.SWAP
    operand: int = 0
    comparand: int = 0
    relaxed: bool = False
    bound: bool = False
    conditional: bool = False
    again: bool = False

    @property
    def field(self) -> int:
        """The value of the field `atomic` of the `CommandWord`."""
        if self.op is Op.ATOMIC:
            return self.atomic
        if self.op is Op.WRITE:
            return (Order.RELAXED if self.relaxed else 0) | (Order.BOUND if self.bound else 0)
        if self.op is Op.SEND:
            return Again.AGAIN if self.again else Again.NO
        return Condition.CONDITIONAL if self.conditional else Condition.NONE


class _Running(NamedTuple):
    """The command in one buffer. `flag`: what the buffer's flag was before; `result_at`: where an
    ATOMIC's result is, from the buffer's flags on; `quiet`: it has a flag only if it fails."""

    operation: RemoteOperation
    tag: int
    flag: bytes
    result_at: int
    quiet: bool


class Commands:
    """Starts commands and finds out which have ended. Nothing here waits.

    A QUIET command that ends well has no flag. As commands end in order, the flag of a later one tells that it
    has ended (MB-06). The last free buffer is never given to a QUIET one, which is an APPEND then. Who looks for
    what to wait for while all commands are QUIET begins one that moves nothing, behind them.

    Attributes:
        under_way: the commands that have not ended. It stays the same object.

    Args:
        flags: the page that entry 0 of the process's page table names.
        payload: most bytes of a packet. Where the kernel copies them, it copies those of a command's
            later packets while the wire is busy with the first.
    """

    def __init__(self, bus: Bus, process: int, flags: HostBuffer, meter: Meter, payload: int) -> None:
        self._bus = bus
        self._payload = payload
        self._process = process
        self._flags = flags
        self._meter = meter
        self._running: dict[int, _Running] = {}  # by buffer, oldest first
        self.under_way: Sized = self._running
        self._free = deque(range(COMMANDS))
        self._tag = 0
        self._noted = False  # the oldest command's end has been paid for
        self._closing: RemoteOperation | None = None  # the command that moves nothing
        self._lost = False  # the adapter carries out nothing any more
        price = meter.costs.price
        self._end_price = price(HostCost.POLL) + price(HostCost.ARRIVAL)

    @property
    def free(self) -> int | None:
        """The buffer that the next command will use; None while all are in use."""
        return self._free[0] if self._free else None

    @property
    def running(self) -> list[RemoteOperation]:
        """The operations under way, oldest first."""
        return [one.operation for one in self._running.values()]

    def start(self, command: Command, what: str) -> RemoteOperation:
        """Begin a command in buffer `free`. `what` is what errors call it."""
        buffer = self._free.popleft()
        if command.op is Op.QUIET and not self._free:
            command = command._replace(op=Op.APPEND)
        self._tag = (self._tag + 1) % (1 << TAG_BITS) or 1
        token = command.token
        wide = command.op is Op.ATOMIC and command.size == WIDE_BYTES
        head = _head(token.exposure, command.local, command.op, command.field, wide, token.node)
        fields = {
            "head": head,
            "key": token.key,
            "offset": token.first + command.offset,
            "length": command.size,
            "local_offset": command.local_offset,
            "operand": command.operand,
            "comparand": command.comparand,
            "tag": self._tag,
        }
        words = list(map(fields.__getitem__, COMMAND_FIELDS))
        if command.op is Op.ATOMIC:
            words[OPERAND_HIGH], words[COMPARAND_HIGH] = command.operand >> 32, command.comparand >> 32
        operation = RemoteOperation(what)
        if self._lost:
            self._running[buffer] = _Running(operation, self._tag, b"", RESULT_AT, False)
            return operation
        result_at = WIDE_RESULT_AT if command.size == WIDE_BYTES else RESULT_AT
        quiet = command.op is Op.QUIET
        self._running[buffer] = _Running(operation, self._tag, bytes(self._flag(buffer)), result_at, quiet)
        self._meter.charge(HostCost.POST)
        if command.op in SENDS:
            self._meter.charge(HostCost.COMMAND_BYTE, min(command.size, self._payload))
        self._meter.pay()
        first = 0 if command.op is Op.ATOMIC else FIRST_OF_HEAD
        data = struct.pack(f">{len(words) - first}I", *[one & MASK for one in words[first:]])
        self._bus.write_block(command_at(self._process, buffer) + 4 * first, data)
        return operation

    def watched(self) -> Watched | None:
        """The word that changes when the oldest command ends, or the first one behind it that is not QUIET; None
        if none is under way."""
        while self._running:
            for buffer, one in self._running.items():
                if not one.quiet:
                    return Watched(self._flags, FLAG_BYTES * buffer + FLAG_AT, one.flag)
            self._close()
        return None

    def abandon(self) -> None:
        """The adapter was lost: commands end as LOST, those under way and all that begin."""
        self._lost = True

    def _close(self) -> None:
        """Begin a command that moves nothing, for its flag."""
        self._closing = self.start(Command(Op.WRITE, Token(0, 0, 0, 0, 0), 0, 0), "the end of records")

    def known_poll(self, watched: Sequence[Watched], picoseconds: int, *, first: bool) -> KnownPoll:
        """A poll of `watched`, with the word of this object's `watched` among them, that takes so long. Where one
        command is under way, it may end well: then call `note` before `take_ended`. `first` as `KnownPoll` has it.
        """
        if len(self._running) == 1 and len(watched) > 1:
            ((buffer, oldest),) = self._running.items()
            at = FLAG_BYTES * buffer + FLAG_AT
            for place, one in enumerate(watched):
                if one.offset == at and one.buffer is self._flags and one.seen == oldest.flag:
                    return KnownPoll(picoseconds, place, ended_well(oldest.tag), self._end_price, first)
        return KnownPoll(picoseconds, first=first)

    def note(self) -> None:
        """The end of the oldest command has been seen and paid for."""
        self._noted = True

    def take_ended(self) -> list[RemoteOperation]:
        """Take the operations that have ended since the last poll, oldest first. Their buffers are free again."""
        ended = []
        while self._running:
            buffer, oldest = next(iter(self._running.items()))
            status = self._status(buffer, oldest)
            silent = status is None and oldest.quiet and self._flagged_behind()
            if silent:  # its own flag may have come between both looks
                status = self._status(buffer, oldest)
                silent = status is None
            if status is None and not silent:
                break
            if not (silent or self._noted):
                self._meter.charge(HostCost.POLL)
                self._meter.charge(HostCost.ARRIVAL)
                self._meter.pay()
            self._noted = False
            del self._running[buffer]
            self._free.append(buffer)
            value = self._flags.view[FLAG_BYTES * buffer + oldest.result_at : FLAG_BYTES * buffer + FLAG_AT]
            oldest.operation.value = int.from_bytes(value, "big")
            oldest.operation.status = Status.OK if status is None else status
            if oldest.operation is not self._closing:
                ended.append(oldest.operation)
        return ended

    def _status(self, buffer: int, running: _Running) -> Status | None:
        """Return how a command has ended by its flag; None if that does not tell."""
        flag: int = FLAG.unpack_from(self._flags.view, FLAG_BYTES * buffer + FLAG_AT)[0]
        if flag >> TAG_AT == running.tag:
            return STATUSES[flag & STATUS]
        return Status.LOST if self._lost else None

    def _flagged_behind(self) -> bool:
        """A command behind the oldest one has a flag. All up to the first that is not QUIET are looked at."""
        for buffer, one in list(self._running.items())[1:]:
            if self._status(buffer, one) is not None:
                return True
            if not one.quiet:
                break
        return False

    def _flag(self, buffer: int) -> memoryview:
        """The word that the adapter writes when the command in a buffer has ended."""
        return self._flags.view[FLAG_BYTES * buffer + FLAG_AT :][:4]


def ended_well(tag: int) -> bytes:
    """The word that tells of a command's end without an error."""
    return FLAG.pack(tag << TAG_AT | Status.OK)


@lru_cache
def _head(exposure: int, local: int, op: Op, atomic: int, wide: bool, peer: int) -> int:
    """A `CommandWord`: a process uses few."""
    return word(CommandWord, exposure=exposure, local=local, op=op, atomic=atomic, wide=wide, peer=peer)
