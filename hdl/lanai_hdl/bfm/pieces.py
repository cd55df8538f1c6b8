"""The statements of a design, compiled in pieces that drive different signals."""

from collections.abc import Iterable
from functools import lru_cache
from types import CodeType, SimpleNamespace
from typing import Any

from amaranth.hdl._ast import Print, Property, SignalDict, Switch, _StatementList
from amaranth.hdl._mem import MemoryInstance
from amaranth.hdl._xfrm import LHSMaskCollector
from amaranth.sim._pyrtl import (
    _FragmentCompiler,
    _LHSValueCompiler,
    _PythonEmitter,
    _RHSValueCompiler,
    _StatementCompiler,
    _ValueCompiler,
)

from .states import Piece, State


class Compiler(_FragmentCompiler):
    """Gives Amaranth's processes for a fragment, of what is not in `pieces`."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.pieces: list[Piece] = []

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
            piece = Piece(names["run"], queue)
            self.pieces.append(piece)
            for index in watched:
                state.slots[index].readers.append(piece)


def _source(state: State, domain: Any, statements: list[Any]) -> tuple[str, list[int]]:
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

    def __init__(self, state: State, emitter: _PythonEmitter, read: set[int]) -> None:
        super().__init__(state, emitter, mode="curr")
        self.read = read

    def on_Signal(self, value: Any) -> str:
        index = self.state.get_signal(value)
        self.read.add(index)
        return f"s{index}.curr"


class _Statements(_StatementCompiler):
    def __init__(self, state: State, emitter: _PythonEmitter, read: set[int]) -> None:
        super().__init__(state, emitter)
        self.rhs = _Reads(state, emitter, read)
        self.lhs = _LHSValueCompiler(state, emitter, rhs=self.rhs)


def _has_effects(statements: Iterable[Any]) -> bool:
    """Does evaluating them do more than drive signals?"""
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
