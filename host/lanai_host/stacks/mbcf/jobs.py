"""Commands to the adapter, in the order in which they are asked for; as many run at a time as it
has buffers for."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from lanai_hdl.remote.packets import Op, Status

from ...adapter.commands import Command, Commands
from ...adapter.exposures import Exposures
from ...adapter.operation import RemoteOperation
from ...adapter.token import Token
from ...bus import reach
from ...bus.base import PAGE_SIZE, Bus, HostBuffer, Watched
from ...config import HostCost, HostCosts
from ...remote import Access

Ended = Callable[[Status], None]


def ignored(status: Status) -> None:
    """The `ended` of a job whose end changes nothing."""


@dataclass(frozen=True)
class Job:
    """A WRITE or an APPEND of bytes: `data`, which are copied, or `size` bytes in this process's
    exposed memory at `address`.

    Attributes:
        token, offset: where to.
        what: in words, for reports of what a rank waits for.
        ended: called once, with how it ended.
    """

    op: Op
    token: Token
    offset: int
    what: str
    ended: Ended
    data: bytes = b""
    address: int = 0
    size: int = 0


class Jobs:
    """Runs jobs. Those of one rank take effect in the order in which they were `add`ed.

    `payload` is the most bytes that a job with `data` may have.
    """

    def __init__(self, bus: Bus, exposures: Exposures, commands: Commands, payload: int, costs: HostCosts) -> None:
        self._bus = bus
        self._exposures = exposures
        self._commands = commands
        self._costs = costs
        self._payload = payload
        self._waiting: deque[Job] = deque()
        self._running: dict[RemoteOperation, Job] = {}
        self._staging: HostBuffer | None = None  # a place for each command buffer's data
        self._address = 0

    async def open(self, buffers: int) -> None:
        """Expose memory of its own to the adapter. Before the first job."""
        self._staging = staging = self._bus.allocate(buffers * self._payload)
        self._address = reach.address_of(staging.view)
        pages = [staging.bus_address + at for at in range(0, staging.size, PAGE_SIZE)]
        await self._exposures.add(self._address, staging.size, pages, Access(0))

    @property
    def idle(self) -> bool:
        return not (self._waiting or self._running)

    @property
    def oldest(self) -> str:
        """What is under way longest, in words."""
        return next((job.what for job in self._running.values()), "")

    def add(self, job: Job) -> None:
        assert len(job.data) <= self._payload
        self._waiting.append(job)

    async def advance(self) -> bool:
        """See which have ended, and begin what may begin. Whether any has ended."""
        ended = await self._commands.take_ended()
        for operation in ended:
            job = self._running.pop(operation)
            assert operation.status is not None
            job.ended(operation.status)
        while self._waiting and self._commands.free is not None:
            await self._begin(self._waiting.popleft(), self._commands.free)
        return bool(ended)

    def watched(self) -> list[Watched]:
        """What changes when one ends."""
        word = self._commands.watched()
        return [] if word is None else [word]

    async def _begin(self, job: Job, buffer: int) -> None:
        address, size = job.address, job.size
        if job.data:
            assert self._staging is not None
            place = buffer * self._payload
            size = len(job.data)
            self._staging.view[place : place + size] = job.data
            address = self._address + place
            await self._bus.elapse(self._costs.price(HostCost.COPY, size))
        local = self._exposures.holding(address, size)
        if local is None:  # withdrawn since the job was added
            job.ended(Status.EXPOSURE)
            return
        command = Command(job.op, job.token, job.offset, size, local.number, local.offset(address))
        operation = await self._commands.start(command, job.what)
        self._running[operation] = job
