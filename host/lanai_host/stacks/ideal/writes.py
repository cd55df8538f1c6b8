"""`Device.writes` of an ideal device: memory that all ranks share, which others' bytes reach at the
simulated time at which a datagram would."""

from bisect import insort
from collections.abc import Callable
from typing import Protocol

from ...body import Body
from ...bus.base import BusError
from ...operation import DeviceError, ErrorKind, Operation
from ...remote import Segment, Writes
from ...simulator.protocol import FOREVER
from ...wait import Wait
from .datagrams import Datagram


class SharedMemory(Protocol):
    """A transport whose ranks share memory; see `rank_transport.RankTransport`."""

    @property
    def now(self) -> int: ...

    def allocate(self, size: int) -> tuple[int, int] | None: ...

    def free(self, place: int) -> None: ...

    def write(self, dest: int, place: int, body: Body) -> int: ...

    def collect(self, why: Wait | None, until: int = FOREVER) -> list[tuple[int, Datagram]]: ...


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
