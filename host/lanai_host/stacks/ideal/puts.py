"""`Writes.native` of an ideal device. `puts.c` has the functions."""

from collections.abc import Iterable, MutableSequence, Sequence
from typing import Any, Protocol

from ...bus.base import Wait
from ...config import HostCost, HostCosts
from ...operation import Operation
from ...remote import NativePuts, PutTarget
from ...simulator.transport import Unfinished
from .device import IdealDevice
from .writes import IdealWrites


class PutTransport(Protocol):
    """A transport with puts by native code; see `rank_transport.RankTransport`."""

    @property
    def now(self) -> int: ...

    @property
    def watched(self) -> bool: ...

    def elapse(self, picoseconds: int) -> None: ...

    def open_puts(self, call: int, poll: int) -> tuple[Any, Any, Any]: ...

    def go_on(self, now: int, why: Wait | None) -> list[tuple[int, bytes]]: ...


class IdealPuts(NativePuts):
    """`serve` says whose writes these are, before all else."""

    def __init__(self, device: IdealDevice, transport: PutTransport, host: HostCosts) -> None:
        self._device, self._transport = device, transport
        self._ffi, self._lib, self._state = transport.open_puts(host.price(HostCost.CALL), host.price(HostCost.POLL))
        self.settled: MutableSequence[int] = self._state.settled
        self.most = len(self._state.targets)
        self._inside = False
        self._writes: IdealWrites | None = None

    def serve(self, writes: IdealWrites) -> None:
        self._writes = writes
        writes.native = self

    @property
    def functions(self) -> tuple[int, ...]:
        lib = self._lib
        pointers = (
            self._state,
            lib.puts_put,
            lib.puts_flush,
            lib.puts_flush_all,
            lib.puts_flush_local,
            lib.puts_flush_local_all,
        )
        return tuple(int(self._ffi.cast("uintptr_t", pointer)) for pointer in pointers)

    @property
    def calls(self) -> int:
        return int(self._state.calls)

    @property
    def unfinished(self) -> bool:
        return bool(self._state.unfinished)

    def know(self, handle: int, size: int) -> None:
        self._lib.puts_type(self._state, handle, size)

    def enter(self, window: int, targets: Sequence[PutTarget], whole: bool, single: int) -> bool:
        writes, state = self._writes, self._state
        if writes is None or writes.settling or self._transport.watched:
            return False
        for index, target in enumerate(targets):
            state.targets[index] = target
        clock, owed = self._transport.now, self._device.meter.owed
        self._lib.puts_enter(state, clock, owed, window, len(targets), whole, single)
        self._inside = True
        return True

    def leave(self) -> None:
        if self._inside:
            self._inside = False
            self._transport.elapse(self._state.clock - self._transport.now)
            self._device.meter.owed = self._state.owed

    def go_on(self, why: Wait, ranks: Iterable[int]) -> list[Operation]:
        state, writes = self._state, self._writes
        assert writes is not None
        waits = state.unfinished == Unfinished.AWAITS
        state.unfinished = Unfinished.NOTHING
        datagrams = self._transport.go_on(state.answer, why if waits else None)
        # Before what has come is dealt with: that takes time, and a wait ends only when it looks.
        settling = [writes.settle(rank) for rank in ranks] if waits else []
        for source, datagram in datagrams:
            self._device.arrive(source, datagram)
        return settling
