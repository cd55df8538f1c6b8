"""The states of signals in our engine for Amaranth's simulator."""

from collections.abc import Callable
from typing import Any

from amaranth.sim.pysim import _PyEngineState, _PyMemoryChange, _PyMemoryState, _PySignalState, _run_wakers

from .testbenches import TickWait


class Piece:
    """Statements of one domain of a module that drive signals which none of the others there
    drives. `queue`: where it waits for its evaluation."""

    __slots__ = ("queue", "queued", "run")

    def __init__(self, run: Callable[[], None], queue: list["Piece"]) -> None:
        self.run = run
        self.queue = queue
        self.queued = False


class SignalState(_PySignalState):
    """`readers`: the pieces to be evaluated after a change. `edges`: those that wait for the edge to
    a value. `ticks`: the waits of processes for such an edge."""

    __slots__ = ("edges", "readers", "sign", "ticks", "width")

    def __init__(self, signal: Any, pending: set[Any]) -> None:
        super().__init__(signal, pending)
        self.readers: list[Piece] = []
        self.edges: dict[int, list[Piece]] = {}
        self.ticks: dict[int, list[TickWait]] = {}
        shape = signal.shape()
        self.width = shape.width
        self.sign = 1 << shape.width - 1 if shape.signed and shape.width else 0

    def within(self, value: int) -> int:
        """The value that the signal has if `value` is assigned to it."""
        value &= (1 << self.width) - 1
        return value - (self.sign << 1) if value & self.sign else value


class MemoryState(_PyMemoryState):
    """A write that changes no bit, as of a port that is not enabled, is left out."""

    __slots__ = ()

    def write(self, addr: int, value: int, mask: int | None = None) -> None:
        if mask != 0:
            super().write(addr, value, mask)


class State(_PyEngineState):
    """`runnable`: the pieces that the next delta cycle evaluates. `known`: the place of a signal by
    the identity of its object, which `slots` keeps alive: to look it up by an equal key takes ten
    times as long."""

    def __init__(self) -> None:
        super().__init__()
        self.runnable: list[Piece] = []
        self.known: dict[int, int] = {}

    def get_signal(self, signal: Any) -> int:
        index = self.known.get(id(signal))
        if index is None:
            index = self.known[id(signal)] = self.signals[signal] = len(self.slots)
            self.slots.append(SignalState(signal, self.pending))
        return index

    def get_memory(self, memory: Any) -> int:
        index: int | None = self.memories.get(memory)
        if index is None:
            index = self.memories[memory] = len(self.slots)
            self.slots.append(MemoryState(memory, self.pending))
        return index

    def commit(self, active: set[Any], changed: set[Any] | None = None) -> bool:
        """Let all signals and memories take their new values; gives whether none has changed.
        Waits whose edge comes are added to `active`."""
        if changed is not None:
            for state in self.pending:
                memory = isinstance(state, _PyMemoryState)
                changed.update((_PyMemoryChange(state, at) for at in state.write_queue) if memory else (state,))
        converged = True
        clocks = []
        for state in self.pending:
            if type(state) is not SignalState:
                converged = not state.commit() and converged
                continue
            value = state.next
            if state.curr == value:
                continue
            converged = False
            if state.wakers:
                _run_wakers(state.wakers, state.curr, value)
            state.curr = value
            if state.ticks:
                active.update(wait for wait in state.ticks.pop(value, ()) if wait.process.waits_on is wait)
            for piece in state.readers:
                if not piece.queued:
                    piece.queued = True
                    piece.queue.append(piece)
            if state.edges:
                clocks.append(state)
        self.pending.clear()
        for clock in clocks:  # after all other signals: what changes with the edge is evaluated at the edge
            waiting = clock.edges.get(clock.curr)
            if waiting:
                self.runnable += waiting
                waiting.clear()
        return converged
