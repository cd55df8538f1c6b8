"""The `ideal` device as a messaging system: ranks exchange messages through shared memory, and no
NIC is simulated."""

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from lanai_hdl import ranges
from lanai_hdl.config import lanai41

from ...body import Body
from ...bus.base import BusError
from ...config import SECOND, HostConfig
from ...device import Device
from ...errors import UserError
from ...operation import DeviceError, ErrorKind, Operation, Wait
from ...orders import Orders, orders_of
from ...remote import Segment, Writes
from ...simulator.client import SimulatorClient
from ...simulator.protocol import ENV_DEVICE, FOREVER
from ...simulator.rank_transport import RankTransport
from ...simulator.transport import TransportHub
from ..base import Stack
from .device import Datagram

# The cost of a message where there is no NIC: LogGP with a latency, a byte time, and no gap between messages.

BYTE_TIME = SECOND // (1000 * lanai41().link_kbytes)  # of the link of 1999: what its NIC and driver add is then seen


@dataclass(frozen=True)
class IdealOptions:
    """Prices of the `ideal` device, in picoseconds. A message of n bytes that finds its sender's
    line free arrives latency + n * byte_time after it was sent. The messages of one sender share
    its line; a receiver takes any number at once."""

    latency: int = 1_000_000  # of a message
    byte_time: int = BYTE_TIME  # of a byte on its sender's line; 0: a line of any bandwidth

    def __post_init__(self) -> None:
        ranges.check(self, {"latency": (0, SECOND), "byte_time": (0, SECOND)})


def unlimited() -> IdealOptions:
    """Any number of bytes takes no longer than none."""
    return IdealOptions(byte_time=0)


class IdealStack(Stack):
    name = "ideal"
    help = (
        "no NIC: a message costs a latency and its time on the link; the upper bound, and the fast way to run a program"
    )
    presets = {"default": IdealOptions, "unlimited": unlimited}
    options_table = "ideal"
    spares_serve_again = True

    def network(self, ranks: int, options: IdealOptions, limit: int, started: int | None = None) -> TransportHub:
        return TransportHub(ranks, options.latency, options.byte_time, limit, started)

    def open(self, client: SimulatorClient, costs: HostConfig) -> Device:
        from .device import IdealDevice
        from .fast_path import IdealFastPath

        if client.transport is None:
            raise UserError(f"{ENV_DEVICE}=ideal, but the simulator runs NICs; start with `lanai run`")
        orders = orders_of(client.rank)
        if orders is not None and isinstance(client.transport, RankTransport):
            return self._choosing(client, client.transport, costs, orders)
        device = IdealDevice(client.rank, client.size, client.transport, costs)
        if isinstance(client.transport, RankTransport):
            device.fast_path = IdealFastPath(device, client.transport, costs)
            writes = IdealWrites(client.transport, device.pay, client.size)
            device.offer(writes, writes.collect, writes.pass_looks)
        return device

    def _choosing(self, client: SimulatorClient, transport: RankTransport, costs: HostConfig, orders: Orders) -> Device:
        from .choosing import ChoosingDevice

        writes = IdealWrites(transport, lambda: device.pay(), client.size)
        device = ChoosingDevice(client.rank, client.size, transport, writes.collect, costs, orders)
        device.writes = writes
        return device


STACK = IdealStack()


# `Device.writes` of an ideal device: memory that all ranks share, which others' bytes reach at the
# simulated time at which a datagram would.


class SharedMemory(Protocol):
    """A transport whose ranks share memory; see `rank_transport.RankTransport`."""

    @property
    def now(self) -> int: ...

    def allocate(self, size: int) -> tuple[int, int] | None: ...

    def free(self, place: int) -> None: ...

    def write(self, dest: int, place: int, body: Body) -> int: ...

    def collect(self, why: Wait | None, until: int = FOREVER) -> list[tuple[int, Datagram]]: ...

    def pass_looks(self, price: int, most: int) -> int: ...


class _Settling(Operation):
    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


def _time(settling: _Settling) -> int:
    return settling.at


class IdealWrites(Writes):
    """The writes of a process among `ranks`. `pay` passes the host work that the device owes to the
    transport."""

    def __init__(self, transport: SharedMemory, pay: Callable[[], None], ranks: int) -> None:
        self._transport = transport
        self._pay = pay
        self._times = [0] * ranks  # when this process may know that all its writes to a rank have taken effect
        self._settling: list[_Settling] = []  # in order of time
        self._done = Operation()  # stands for every write
        self._done.done = True

    def allocate(self, size: int) -> Segment | None:
        found = self._transport.allocate(size)
        return None if found is None else Segment(found[1], size, found[0])

    def release(self, segment: Segment) -> None:
        self._transport.free(self.place(segment))

    def place(self, segment: Segment) -> int:
        assert isinstance(segment.handle, int)
        return segment.handle

    def put(self, rank: int, place: int, body: Body) -> Operation:
        self._pay()
        try:
            self._times[rank] = self._transport.write(rank, place, body)
        except BusError as error:
            failed = Operation(rank)
            failed.error = DeviceError(ErrorKind.BUS_ERROR, str(error))
            failed.done = True
            return failed
        return self._done

    def settle(self, rank: int) -> Operation:
        at = self._times[rank]
        if self._transport.now >= at:
            return self._done
        settling = _Settling(at)
        insort(self._settling, settling, key=_time)
        return settling

    def collect(self, why: Wait | None, until: int = FOREVER) -> list[tuple[int, Datagram]]:
        """Collect datagrams from the transport. A wait ends as soon as a write settles."""
        transport, settling = self._transport, self._settling
        if not settling:
            return transport.collect(why, until)
        collected = transport.collect(why, min(until, settling[0].at))
        while settling and settling[0].at <= transport.now:
            settling.pop(0).done = True
        return collected

    def pass_looks(self, price: int, most: int) -> int:
        """Let looks of the transport pass that find nothing. While a write settles it is not known which do."""
        return 0 if self._settling else self._transport.pass_looks(price, most)
