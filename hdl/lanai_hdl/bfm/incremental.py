"""Amaranth's simulator, which evaluates only what a changed signal can change."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from types import CodeType, SimpleNamespace
from typing import Any

from amaranth.hdl._ast import Print, Property, SignalDict, Switch, _StatementList
from amaranth.hdl._mem import MemoryInstance
from amaranth.hdl._xfrm import LHSMaskCollector
from amaranth.sim._async import AsyncProcess
from amaranth.sim._pyrtl import (
    _FragmentCompiler,
    _LHSValueCompiler,
    _PythonEmitter,
    _RHSValueCompiler,
    _StatementCompiler,
    _ValueCompiler,
)
from amaranth.sim.pysim import PySimEngine, _PyEngineState, _PyMemoryChange, _PyMemoryState, _PySignalState, _run_wakers


class IncrementalEngine(PySimEngine):
    """An engine for `amaranth.sim.Simulator`, with the results of its own one, delta cycle by delta
    cycle, in a fraction of the time.

    Amaranth 0.5 evaluates all combinational statements of a module when one of their inputs has
    changed, and all synchronous ones at each edge of the clock. Here the statements of a module are
    divided into pieces that drive different signals. A combinational piece is evaluated when a
    signal that it reads has changed. A synchronous piece is evaluated at the first edge after a
    signal that it reads or drives has changed: until then it would drive what it drove before.
    Memories, and statements that print or assert, are evaluated as Amaranth does it.
    """

    def __init__(self, design: Any) -> None:
        self._design = design
        self._state = _State()
        compiler = _Compiler(self._state)
        self._processes = compiler(design.fragment)  # with the clocks and those of the bench, added later
        self._pieces = compiler.pieces
        self._testbenches: list[Any] = []
        self._delta_cycles = 0
        self._vcd_writers: list[Any] = []
        self._active_triggers: set[Any] = set()
        self._lasting = {at: [*slot.wakers] for at, slot in enumerate(self._state.slots) if slot.wakers}
        self._queue_all()

    def reset(self) -> None:
        """As new, but for the processes that were added: they begin again. Amaranth's own engine
        would also wake what they waited for before."""
        for at, slot in enumerate(self._state.slots):
            slot.wakers[:] = self._lasting.get(at, ())
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
                    assert type(process) is not AsyncProcess or process.waits_on is None or process.waits_on.run
            self._evaluate()
            changed: set[Any] | None = set() if self._vcd_writers else None
            converged = self._state.commit(changed)
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


class _Piece:
    """Statements of one domain of a module that drive signals which none of the others there
    drives. `queue`: where it waits for its evaluation."""

    __slots__ = ("queue", "queued", "run")

    def __init__(self, run: Callable[[], None], queue: list["_Piece"]) -> None:
        self.run = run
        self.queue = queue
        self.queued = False


class _SignalState(_PySignalState):
    """`readers`: the pieces to be evaluated after a change. `edges`: those that wait for the edge to
    a value."""

    __slots__ = ("edges", "readers")

    def __init__(self, signal: Any, pending: set[Any]) -> None:
        super().__init__(signal, pending)
        self.readers: list[_Piece] = []
        self.edges: dict[int, list[_Piece]] = {}


class _State(_PyEngineState):
    """`runnable`: the pieces that the next delta cycle evaluates."""

    def __init__(self) -> None:
        super().__init__()
        self.runnable: list[_Piece] = []

    def get_signal(self, signal: Any) -> int:
        if signal not in self.signals:
            self.signals[signal] = len(self.slots)
            self.slots.append(_SignalState(signal, self.pending))
        index: int = self.signals[signal]
        return index

    def commit(self, changed: set[Any] | None = None) -> bool:
        """Let all signals and memories take their new values; gives whether none has changed."""
        if changed is not None:
            for state in self.pending:
                memory = isinstance(state, _PyMemoryState)
                changed.update((_PyMemoryChange(state, at) for at in state.write_queue) if memory else (state,))
        converged = True
        clocks = []
        for state in self.pending:
            if type(state) is not _SignalState:
                converged = not state.commit() and converged
                continue
            value = state.next
            if state.curr == value:
                continue
            converged = False
            if state.wakers:
                _run_wakers(state.wakers, state.curr, value)
            state.curr = value
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


class _Compiler(_FragmentCompiler):
    """Gives Amaranth's processes for a fragment, of what is not in `pieces`."""

    def __init__(self, state: _State) -> None:
        super().__init__(state)
        self.pieces: list[_Piece] = []

    def __call__(self, fragment: Any) -> set[Any]:
        if isinstance(fragment, MemoryInstance):
            whole: set[Any] = super().__call__(fragment)
            return whole
        processes = set()
        for name, statements in fragment.statements.items():
            domain = None if name == "comb" else fragment.domains[name]
            if _has_effects(statements) or (domain is not None and domain.async_reset):
                parts = {"statements": {name: statements}, "domains": fragment.domains, "subfragments": ()}
                processes |= super().__call__(SimpleNamespace(**parts))
            else:
                self._add_pieces(domain, _divided(statements))
        for inner, _, _ in fragment.subfragments:
            processes |= self(inner)
        return processes

    def _add_pieces(self, domain: Any, groups: list[list[Any]]) -> None:
        state = self.state
        queue = state.runnable
        if domain is not None:
            queue = state.slots[state.get_signal(domain.clk)].edges.setdefault(int(domain.clk_edge == "pos"), [])
        sources = [_source(state, domain, group) for group in groups]
        names: dict[str, Any] = {"slots": state.slots, "add": state.pending.add}
        names |= {**_ValueCompiler.helpers, **_StatementCompiler.helpers}
        for text, watched in sources:
            exec(_compiled(text), names)
            piece = _Piece(names["run"], queue)
            self.pieces.append(piece)
            for index in watched:
                state.slots[index].readers.append(piece)


def _source(state: _State, domain: Any, statements: list[Any]) -> tuple[str, list[int]]:
    """The Python text of a piece's function, and the signals that it is evaluated for."""
    masks = LHSMaskCollector()
    masks.visit_stmt(statements)
    driven = [(state.get_signal(signal), signal, mask) for signal, mask in masks.masks()]
    emitter, read = _PythonEmitter(), set[int]()
    emitter._level += 1
    for index, signal, _ in driven:
        if domain is None:
            state.slots[index].is_comb = True
        emitter.append(f"next_{index} = {signal.init if domain is None else f's{index}.next'}")
    compiler = _Statements(state, emitter, read)
    compiler(_StatementList(statements))
    if domain is not None and domain.rst is not None:
        emitter.append(f"if 1 & {compiler.rhs(domain.rst)}:")
        with emitter.indent():
            emitter.append("pass")
            for index, signal, _ in driven:
                if not signal.reset_less:
                    emitter.append(f"next_{index} = {signal.init}")
    for index, signal, mask in driven:
        emitter.append(_update(index, signal, mask))
    outputs = {index for index, _, _ in driven}
    bound = ", ".join(f"s{index}=slots[{index}]" for index in sorted(read | outputs))
    return f"def run({bound}, add=add):\n{emitter.flush()}", sorted(read if domain is None else read | outputs)


def _update(index: int, signal: Any, mask: int) -> str:
    """Drives the bits `mask` of a signal."""
    width = len(signal)
    if mask == (1 << width) - 1:
        return f"if s{index}.next != next_{index}: s{index}.next = next_{index}; add(s{index})"
    if signal.shape().signed and mask & 1 << (width - 1):
        mask |= -1 << width
    return f"s{index}.update(next_{index}, {mask})"


@lru_cache(maxsize=1 << 15)  # of several NICs; many tests simulate the same one
def _compiled(text: str) -> CodeType:
    return compile(text, "<incremental>", "exec")


class _Reads(_RHSValueCompiler):
    """Expressions over the local names of the signals' states, which are noted in `read`."""

    def __init__(self, state: _State, emitter: _PythonEmitter, read: set[int]) -> None:
        super().__init__(state, emitter, mode="curr")
        self.read = read

    def on_Signal(self, value: Any) -> str:
        index = self.state.get_signal(value)
        self.read.add(index)
        return f"s{index}.curr"


class _Statements(_StatementCompiler):
    def __init__(self, state: _State, emitter: _PythonEmitter, read: set[int]) -> None:
        super().__init__(state, emitter)
        self.rhs = _Reads(state, emitter, read)
        self.lhs = _LHSValueCompiler(state, emitter, rhs=self.rhs)


def _has_effects(statements: Iterable[Any]) -> bool:
    """Whether evaluating them does more than to drive signals."""
    return any(
        isinstance(statement, (Print, Property))
        or (isinstance(statement, Switch) and any(_has_effects(inner) for _, inner, _ in statement.cases))
        for statement in statements
    )


def _divided(statements: Iterable[Any]) -> list[list[Any]]:
    """The statements in groups, each in the order as given: two that drive the same signal are in
    the same group."""
    groups: list[list[Any] | None] = []
    group_of = SignalDict()
    for position, statement in enumerate(statements):
        driven = list(statement._lhs_signals())
        joined = sorted({group_of[signal] for signal in driven if signal in group_of})
        members = [(position, statement)]
        for number in joined:
            members += groups[number] or []
            groups[number] = None
        number = len(groups)
        groups.append(members)
        for _, member in members:
            for signal in member._lhs_signals():
                group_of[signal] = number
    return [[statement for _, statement in sorted(group, key=lambda one: one[0])] for group in groups if group]
