"""A log of the answers that a rank got since its snapshot, and of its requests: enough to bring a copy of the snapshot
to where the rank was. It stands for the log of the CCU MPI's daemon (CC-26), which owns all messages of its node.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from lanai_host.simulator.protocol import FOREVER, Op
from lanai_host.simulator.relay import pack_relayed
from lanai_host.simulator.requests import COLLECT, DATAGRAM
from lanai_host.simulator.transport import Answer, Awaited, ServedRank, TransportHub

from ...kernel.kernel import Kernel, Suspension
from ..rank_service import Refused
from ..request import Request


@dataclass(slots=True)
class Write:
    """Bytes that a NIC wrote into the rank's memory. `buffer`: the number of one that the rank has
    allocated for NICs, which `address` counts from; -1: an address of the rank's own."""

    buffer: int
    address: int
    data: bytes


@dataclass(slots=True)
class Step:
    """One answer, with what NICs wrote before it, and what the rank asked next: None as long as it
    has not."""

    frame: bytes
    writes: Sequence[Write] = ()
    requests: list[Request] | None = None


@dataclass
class Log:
    """`taken`: simulated time of the snapshot."""

    taken: int
    steps: list[Step] = field(default_factory=list)

    @property
    def work(self) -> int:
        """Host work that is done again, in picoseconds."""
        return sum(request.elapsed for step in self.steps for request in step.requests or ())


def difference(before: Sequence[Request], now: Sequence[Request]) -> str:
    """Return how a repeated run of requests differs, in words; empty if it does not."""
    for number, old in enumerate(before):
        if number >= len(now):
            return f"no {_name(old)} comes after {number} requests"
        new = now[number]
        if old.op != new.op:
            return f"{_name(new)} instead of {_name(old)}"
        if old.payload != new.payload:
            return f"another {_name(new)}"
        if old.elapsed != new.elapsed:
            return f"{_name(new)} after {new.elapsed} ps of work instead of {old.elapsed} ps"
    return "" if len(before) == len(now) else f"{_name(now[len(before)])} after the last request"


def _name(request: Request) -> str:
    return Op(request.op).name


# The transport of the device `ideal` where all datagrams pass through the simulator: the rank itself touches no
# memory of others (`lanai_host.simulator.relay`).


Killer = Callable[[int, int], None]


class Relay:
    """The state that the relayed transports of a run's ranks share. `kill(rank, time)` is called at the times of
    `kills`.
    """

    def __init__(self, kernel: Kernel, hub: TransportHub) -> None:
        self.kernel = kernel
        self.hub = hub
        self.kill: Killer = lambda rank, time: None
        self.waiting: dict[int, tuple[ServedRank, Suspension[int]]] = {}

    def settle(self) -> None:
        """Answer those whose waits have ended."""
        for number in sorted(self.waiting):
            end, suspension = self.waiting.get(number, (None, None))
            if end is not None and suspension is not None and (now := end.released()) != Answer.AGAIN:
                del self.waiting[number]
                suspension.resume(now)


class RelayAccess:
    """Serves one rank. It is killed at the times `kills`, in order."""

    def __init__(self, relay: Relay, number: int, kills: Iterable[int] = ()) -> None:
        self._relay = relay
        self._number = number
        self._end = relay.hub.serve(number)
        self._kills = sorted(kills)
        self._left = False
        self._delivered = 0
        self.revive: Callable[[], bool] = lambda: False

    async def connect(self, pid: int) -> None:
        """Nothing of the process is reached from here."""

    # The rank's memory is its own: there is nothing to restore.

    def arrived(self) -> bool:
        return True

    def kept(self) -> object:
        return None

    def lost(self) -> None: ...

    def restore(self, kept: object, pid: int) -> None: ...

    def apply(self, writes: Sequence[Write]) -> None: ...

    def repeated(self, request: Request) -> None: ...

    def restored(self) -> None: ...

    async def come_to(self, clock: int) -> None: ...

    def delivered(self) -> tuple[Sequence[Write], int]:
        size, self._delivered = self._delivered, 0
        return (), size

    async def serve(self, request: Request, clock: int) -> tuple[int, bytes]:
        if request.op in (Op.DATAGRAM, Op.LEAVE, Op.COLLECT):
            await self._come_to(clock)
        if request.op == Op.DATAGRAM:
            head, text = DATAGRAM.split(request.payload)
            self._end.post(head.dest, clock, text, head.charged)
            return clock, b""
        if request.op == Op.LEAVE:
            self._leave()
            return clock, b""
        if request.op == Op.COLLECT:
            return await self._collect(clock, Awaited(COLLECT.split(request.payload)[0].awaited))
        raise Refused(f"{Op(request.op).name}: this fabric has no NICs; choose a device other than ideal")

    async def write(self, requests: Sequence[Request], clock: int, then: Request | None = None) -> int:
        raise Refused("PIO_WRITE: this fabric has no NICs; choose a device other than ideal")

    def quiet_until(self) -> int:
        return 0

    def hand_over(self, state: bytes) -> None: ...

    def close(self) -> None:
        """The rank has left, by its own word or because its process has ended."""
        self._leave()

    def free(self) -> None:
        """The run is over. Tasks that still wait are closed after this, and find the rank gone."""
        self._left = True
        self._relay.waiting.clear()
        self._end.close()

    def _leave(self) -> None:
        if not self._left:
            self._left = True
            self._relay.hub.leave(self._number)
            self._relay.settle()

    async def _come_to(self, clock: int) -> None:
        """The rank's time has come to `clock`, and is killed if its hour lies before."""
        while self._kills and self._kills[0] <= clock:
            time = self._kills.pop(0)
            await self._wait(time, Awaited.TURN)
            self._relay.kill(self._number, time)

    async def _collect(self, clock: int, awaited: Awaited) -> tuple[int, bytes]:
        while True:
            limit = self._kills[0] if self._kills else FOREVER
            clock = await self._wait(clock, awaited, limit)
            datagrams = self._end.take() if awaited in (Awaited.DATAGRAM, Awaited.LOOK) else []
            if datagrams or awaited != Awaited.DATAGRAM:
                self._delivered += sum(len(text) for _, text in datagrams)
                return clock, pack_relayed(datagrams)
            await self._come_to(clock)

    async def _wait(self, clock: int, awaited: Awaited, limit: int = FOREVER) -> int:
        """The time at which the wait is over. If nothing can end it, it lasts as long as the
        run."""
        relay, kernel = self._relay, self._relay.kernel
        self._end.begin_wait(clock, awaited, limit)
        relay.settle()
        now = self._end.released()
        if now == Answer.AGAIN:
            suspension: Suspension[int] = kernel.suspension()
            relay.waiting[self._number] = self._end, suspension
            now = await suspension
        if now == Answer.STOP:
            wake = relay.hub.look(self._number).wake
            await (kernel.suspension() if wake == FOREVER else kernel.until(wake, self._number))
        return now
