"""Sends, receives and messages on their way."""

import ctypes
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import NamedTuple

from lanai_hdl.remote.packets import Op, Status

from ... import process_memory
from ...adapter.commands import Command
from ...adapter.opened import OpenedAdapter
from ...adapter.operation import RemoteOperation, Token
from ...body import Body, Run
from ...bus.base import PAGE_SIZE, Bus, Watched
from ...config import HostCost
from ...host_model import matcher
from ...host_model import meter as operations
from ...host_model.meter import Meter
from ...operation import ANY_SOURCE, DeviceError


class Kept(Run):
    """Bytes of the library's own, as a body."""

    def __init__(self, data: bytes) -> None:
        self._memory = ctypes.create_string_buffer(data, len(data) or 1)
        super().__init__(ctypes.addressof(self._memory), len(data))


class Send(operations.Send):
    """A message to `dest`.

    Attributes:
        data: of a message by FIFO that has begun: its bytes.
        copied: how many of them are in records.
        serial: of a message by FIFO; None before it has begun.
        eager: it goes by FIFO whatever requests there are.
        here: of a message by FIFO: its last record is at the peer.
        recalled: the program wants it back.
    """

    __slots__ = ("copied", "data", "eager", "here", "recalled", "serial")

    def __init__(self, source: int, dest: int, tag: int, context: int, body: Body, synchronous: bool) -> None:
        super().__init__(source, dest, tag, context, body, synchronous)
        self.data = b""
        self.copied = 0
        self.serial: int | None = None
        self.eager = False
        self.here = False
        self.recalled = False


class Receive(operations.Receive):
    """`number`: its place in the program's order."""

    __slots__ = ("number",)

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag, context, body)
        self.number = 0


class Message:
    """A message that comes, or has come, by FIFO. Its bytes go to `receive`, or are kept in `data`.

    Attributes:
        here: bytes of it that have come.
        synchronous: serial that its sender waits to see matched; None if it does not, or has been
            told.
        own_send: the synchronous send of this rank to itself that it is.
        probed: a probe has told the program of it.
        failure: why the rest of it does not come.
    """

    __slots__ = (
        "context", "data", "failure", "here", "length", "order", "own_send", "probed", "receive", "source",
        "synchronous", "tag",
    )  # fmt: skip

    def __init__(self, source: int, tag: int, context: int, length: int, synchronous: int | None = None) -> None:
        self.source = source
        self.tag = tag
        self.context = context
        self.length = length
        self.synchronous = synchronous
        self.here = 0
        self.order = 0
        self.data: bytearray | None = None
        self.receive: Receive | None = None
        self.own_send: Send | None = None
        self.probed = False
        self.failure: DeviceError | None = None

    @property
    def whole(self) -> bool:
        return self.here == self.length


# Receives that wait and messages that have come by FIFO (MB-15), by context (MB-G6); and the receives in
# the program's order.


class Matcher(matcher.Matcher[Receive, Message]):
    """Receives and messages that have not met.

    `by_source` has the receives that name a source, oldest first. `any_source` has the others:
    those behind one of them must not be asked for (MB-24).
    """

    def __init__(self, meter: Meter) -> None:
        super().__init__(meter)
        self._numbers = 0
        self.by_source: dict[int, OrderedDict[int, Receive]] = {}
        self.any_source: OrderedDict[int, Receive] = OrderedDict()

    def post(self, receive: Receive) -> None:
        super().post(receive)
        self._numbers += 1
        receive.number = self._numbers
        self._list(receive)[receive.number] = receive

    def withdraw(self, receive: Receive) -> None:
        super().withdraw(receive)
        del self._list(receive)[receive.number]

    def meet(self, source: int, tag: int, context: int) -> Receive | None:
        receive = super().meet(source, tag, context)
        if receive is not None:
            del self._list(receive)[receive.number]
        return receive

    def synchronous(self, source: int, serial: int) -> Message | None:
        """The synchronous message with that serial, if it has met no receive."""
        return next((one for one in self.messages if one.source == source and one.synchronous == serial), None)

    def own(self, send: Send) -> Message | None:
        """The message to itself that a synchronous send of this rank is, if it has met no receive."""
        return next((one for one in self.messages if one.own_send is send), None)

    def _list(self, receive: Receive) -> OrderedDict[int, Receive]:
        if receive.source == ANY_SOURCE:
            return self.any_source
        return self.by_source.setdefault(receive.source, OrderedDict())


# Commands to the adapter, in the order in which they are asked for; as many run at a time as it
# has buffers for.

Ended = Callable[[Status], None]


def ignored(status: Status) -> None:
    """The `ended` of a job whose end changes nothing."""


def always() -> bool:
    return True


class Job(NamedTuple):
    """A WRITE or an APPEND of bytes: `data`, which are copied, or `size` bytes in this process's
    exposed memory at `address`.

    Members:
        token, offset: where to.
        what: in words, for reports of what a rank waits for.
        ended: called once, with how it ended.
        bound: of a WRITE: if it is refused, so is the next `conditional` record to that NIC.
        begins: called when it would begin. If it says no, the job is dropped, and `ended` is not
            called.
    """

    op: Op
    token: Token
    offset: int
    what: str
    ended: Ended
    data: bytes = b""
    address: int = 0
    size: int = 0
    bound: bool = False
    conditional: bool = False
    begins: Callable[[], bool] = always


class Jobs:
    """Runs jobs. Those of one rank take effect in the order in which they were `add`ed.

    `payload` is the most bytes that a job with `data` may have.

    Attributes:
        running: the jobs under way, by their commands. It stays the same object.
    """

    def __init__(self, bus: Bus, adapter: OpenedAdapter, payload: int, meter: Meter) -> None:
        assert payload <= PAGE_SIZE, "a job's data fit into a staging page"
        self._bus = bus
        self._adapter = adapter
        self._commands = adapter.share()
        self._meter = meter
        self._payload = payload
        self._waiting: deque[Job] = deque()
        self.running: dict[RemoteOperation, Job] = {}
        self._dropped = False  # some have not begun, since the last `advance`

    @property
    def idle(self) -> bool:
        return not (self._waiting or self.running)

    @property
    def begun(self) -> bool:
        """No job waits to begin."""
        return not (self._waiting or self._dropped)

    @property
    def untaken(self) -> bool:
        """A job has ended, as another user of the adapter has found, and `advance` has not taken it."""
        return bool(self._commands.ended)

    @property
    def free(self) -> bool:
        """Another job would begin at once."""
        return not self._waiting and self._commands.free is not None

    @property
    def oldest(self) -> str:
        """The job that has run longest, in words; "" without any."""
        return next((job.what for job in self.running.values()), "")

    def add(self, job: Job) -> None:
        assert len(job.data) <= self._payload
        self._waiting.append(job)

    def advance(self) -> bool:
        """See which have ended, and begin what may begin. Whether any has ended, or will not begin."""
        ended = self._commands.take_ended() if self.running else []
        for operation in ended:
            job = self.running.pop(operation)
            assert operation.status is not None
            job.ended(operation.status)
        if self._waiting:
            self.begin()
        over = bool(ended) or self._dropped
        self._dropped = False
        return over

    def begin(self) -> None:
        """Begin what may begin."""
        while self._waiting and self._commands.free is not None:
            begun = self._begin(self._waiting.popleft(), self._commands.free)
            self._dropped = self._dropped or not begun

    def watched(self) -> list[Watched]:
        """Return the word that changes when a job ends, if one may end."""
        word = self._commands.watched()
        return [] if word is None else [word]

    def _begin(self, job: Job, buffer: int) -> bool:
        """Begin a job. Return whether it runs now."""
        if not job.begins():
            return False
        address, size = job.address, job.size
        if job.data:
            address, size = self._adapter.stage(buffer), len(job.data)
            process_memory.write(address, job.data)
            self._meter.spend(HostCost.COPY, size)
        local = self._adapter.exposures.holding(address, size)
        if local is None:  # withdrawn since the job was added
            job.ended(Status.EXPOSURE)
            return False
        at = local.offset(address)
        command = Command(
            job.op, job.token, job.offset, size, local.number, at, bound=job.bound, conditional=job.conditional
        )
        operation = self._commands.start(command, job.what)
        self.running[operation] = job
        return True
