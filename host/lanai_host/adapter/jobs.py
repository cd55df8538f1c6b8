"""Commands to the adapter, in the order in which they are asked for; as many run at a time as it has buffers for."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from lanai_hdl.remote.packets import Op, Status

from .. import process_memory
from ..bus.base import PAGE_SIZE, Watched
from ..config import HostCost
from ..host_model.meter import Meter
from .commands import Command
from .opened import OpenedAdapter
from .operation import RemoteOperation, Token

Ended = Callable[[Status], None]


def ignored(status: Status) -> None:
    """The `ended` of a job whose end changes nothing."""


def always() -> bool:
    return True


class Job(NamedTuple):
    """A WRITE, an APPEND or a SEND of bytes: `data`, which are copied, or `size` bytes in this process's
    exposed memory at `address`.

    Members:
        token, offset: where to.
        what: in words, for reports of what a rank waits for.
        ended: called once, with how it ended.
        bound: of a WRITE: if it is refused, so is the next `conditional` record to that NIC.
        again: as `Command` has it.
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
    again: bool = False
    begins: Callable[[], bool] = always


class Jobs:
    """Runs jobs. Those of one rank take effect in the order in which they were `add`ed.

    `payload` is the most bytes that a job with `data` may have.

    Attributes:
        running: the jobs under way, by their commands. It stays the same object.
    """

    def __init__(self, adapter: OpenedAdapter, payload: int, meter: Meter) -> None:
        assert payload <= PAGE_SIZE, "a job's data fit into a staging page"
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
        command = Command(job.op, job.token, job.offset, size, local.number, at)
        command = command._replace(bound=job.bound, conditional=job.conditional, again=job.again)
        operation = self._commands.start(command, job.what)
        self.running[operation] = job
        return True
