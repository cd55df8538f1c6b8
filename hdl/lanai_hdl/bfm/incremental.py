"""Amaranth's simulator, which evaluates only what a changed signal can change."""

from collections.abc import Iterable
from typing import Any

from amaranth.hdl._ast import Signal, Slice, Value
from amaranth.sim._pyeval import eval_value
from amaranth.sim.pysim import PySimEngine, _PyMemoryChange

from .pieces import Compiler
from .states import SignalState, State
from .testbenches import Process, TickWait


class IncrementalEngine(PySimEngine):
    """An engine for `amaranth.sim.Simulator`, with the results of its own one, delta cycle by delta
    cycle, in a fraction of the time.

    Amaranth 0.5 evaluates all combinational statements of a module when one of their inputs has
    changed, and all synchronous ones at each edge of the clock. Here the statements of a module are
    divided into pieces that drive different signals. A combinational piece is evaluated when a
    signal that it reads has changed. A synchronous piece is evaluated at the first edge after a
    signal that it reads or drives has changed: until then it would drive what it drove before.
    Memories, and statements that print or assert, are evaluated as Amaranth does it. Processes and
    testbenches have contexts of ours (`testbenches.py`).
    """

    def __init__(self, design: Any) -> None:
        self._design = design
        self._state = State()
        compiler = Compiler(self._state)
        self._processes = compiler(design.fragment)  # with the clocks and those of the bench, added later
        self._pieces = compiler.pieces
        self._testbenches: list[Any] = []
        self._delta_cycles = 0
        self._vcd_writers: list[Any] = []
        self._active_triggers: set[Any] = set()
        self._lasting = {at: [*slot.wakers] for at, slot in enumerate(self._state.slots) if slot.wakers}
        self._queue_all()

    def reset(self) -> None:
        """Set everything back to what it was at first. Processes that were added begin again. Amaranth's
        own engine would also wake what they waited for before."""
        for at, slot in enumerate(self._state.slots):
            slot.wakers[:] = self._lasting.get(at, ())
            if isinstance(slot, SignalState):
                slot.ticks.clear()
        self._active_triggers.clear()
        self._delta_cycles = 0
        super().reset()
        self._queue_all()

    def forget_testbenches(self) -> None:
        self._testbenches.clear()

    def load(self, memory: Any, words: list[int]) -> None:
        """The first rows of a memory get other values than they have at first."""
        self._state.slots[self._state.get_memory(memory)].data[: len(words)] = words

    def _queue_all(self) -> None:
        for piece in self._pieces:
            piece.queue.clear()
        for piece in self._pieces:
            piece.queued = True
            piece.queue.append(piece)

    def add_async_process(self, simulator: Any, process: Any) -> None:
        self._processes.add(Process(self._design, self, process, testbench=False, background=True))

    def add_async_testbench(self, simulator: Any, process: Any, *, background: bool) -> None:
        self._testbenches.append(Process(self._design, self, process, testbench=True, background=background))

    def get_value(self, expr: Any) -> int:
        value = Value.cast(expr)
        if type(value) is Signal:
            now: int = self._state.slots[self._state.get_signal(value)].curr
            return now
        if type(value) is Slice and type(value.value) is Signal:
            whole = self._state.slots[self._state.get_signal(value.value)].curr
            return whole >> value.start & (1 << value.stop - value.start) - 1
        other: int = eval_value(self._state, value)
        return other

    def set_signal(self, signal: Signal, value: int) -> None:
        state = self._state.slots[self._state.get_signal(signal)]
        if state.is_comb:
            self.set_value(signal, value)  # which refuses it
        state.update(state.within(value))

    def wait_for_edge(self, clock: Signal, level: int, wait: TickWait) -> None:
        """`wait` is run at the next change of `clock` to `level`."""
        self._state.slots[self._state.get_signal(clock)].ticks.setdefault(level, []).append(wait)

    def settle(self) -> None:
        """After a signal was set: as `step_design`, which is left out if the signal had the value."""
        if self._state.pending or self._state.runnable or self._vcd_writers:
            self.step_design()

    def advance(self) -> bool:
        """Everything at this time, then to the next time at which something happens. Gives whether
        a process or a testbench has not ended that the run is for."""
        self.step_design()
        converged = False
        while not converged:
            converged = True
            for testbench in self._testbenches:
                if testbench.runnable:
                    testbench.runnable = False
                    testbench.run()
                    assert testbench.waits_on is None or testbench.waits_on.run
                    converged = False
        self._state.timeline.advance()
        return any(one.critical for one in self._testbenches) or any(one.critical for one in self._processes)

    def step_design(self) -> None:
        """Delta cycles until nothing changes."""
        converged = False
        while not converged:
            for trigger in self._active_triggers:
                trigger.run()
            self._active_triggers.clear()
            for process in self._processes:
                if process.runnable:
                    process.runnable = False
                    process.run()
                    assert type(process) is not Process or process.waits_on is None or process.waits_on.run
            self._evaluate()
            changed: set[Any] | None = set() if self._vcd_writers else None
            converged = self._state.commit(self._active_triggers, changed)
            for writer in self._vcd_writers:
                self._write(writer, changed or ())
            self._delta_cycles += 1

    def _evaluate(self) -> None:
        pieces = self._state.runnable[:]
        self._state.runnable.clear()
        for piece in pieces:
            piece.queued = False
            piece.run()

    def _write(self, writer: Any, changed: Iterable[Any]) -> None:
        now = self._now_plus_deltas(writer.fs_per_delta)
        for change in changed:
            if isinstance(change, _PyMemoryChange):
                writer.update_memory(now, change.state.memory, change.addr)
            else:
                writer.update_signal(now, change.signal)
