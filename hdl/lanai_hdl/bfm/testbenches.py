"""Processes and testbenches of Amaranth's simulator, which read and drive plain signals directly.

Amaranth's own context casts each expression, looks its signal up by an equal key, and makes four
objects for each wait for a clock. A bench does this at each slot, so it cost more than the design.
"""

from collections.abc import Generator
from typing import Any

from amaranth import Signal
from amaranth.sim._async import AsyncProcess, ProcessContext, TestbenchContext, TickTrigger


class TickWait:
    """One wait of `process` for an edge of a clock. `run` is called at the edge, before what
    changes with it: it samples the expressions `sampled`, and the reset."""

    __slots__ = ("process", "reset", "result", "sampled")

    def __init__(self, process: "Process", reset: Any, sampled: tuple[Any, ...]) -> None:
        self.process = process
        self.reset = reset
        self.sampled = sampled
        self.result: tuple[Any, ...] = ()

    def run(self) -> None:
        read = self.process.sample
        reset = self.reset is not None and bool(read(self.reset))
        self.result = (True, reset, *[read(expression) for expression in self.sampled])
        self.process.runnable = True
        self.process.waits_on = None

    def initial_eligible(self) -> bool:
        return False


class _Tick(TickTrigger):
    """The trigger of `context.tick()` for a clock whose domain has no asynchronous reset."""

    def sample(self, *expressions: Any) -> "_Tick":
        sampled = (*self._sampled, *expressions)
        return _Tick(self._engine, self._process, domain=self._domain, sampled=sampled)

    def __await__(self) -> Generator[TickWait, None, tuple[Any, ...]]:
        domain = self._domain
        wait = TickWait(self._process, domain.rst, self._sampled)
        self._engine.wait_for_edge(domain.clk, int(domain.clk_edge == "pos"), wait)
        yield wait
        return wait.result


class _Ticks:
    """A context whose triggers for clocks are made once for each process, if they are of ours."""

    def __init__(self, design: Any, engine: Any, process: Any) -> None:
        super().__init__(design, engine, process)  # type: ignore[call-arg]  # of the context beside it
        self._ticks: dict[Any, TickTrigger] = {}

    def tick(self, domain: Any = "sync", *, context: Any = None) -> TickTrigger:
        known = None if context else self._ticks.get(domain)
        if known is None:
            known = super().tick(domain, context=context)  # type: ignore[misc]
            clock = known._domain
            if not context and not (clock.async_reset and clock.rst is not None):
                known = self._ticks[domain] = _Tick(known._engine, known._process, domain=clock)
        return known


class _ProcessContext(_Ticks, ProcessContext):
    pass


class _TestbenchContext(_Ticks, TestbenchContext):
    def get(self, expr: Any) -> Any:
        return self._engine.get_value(expr) if type(expr) is Signal else super().get(expr)

    def set(self, expr: Any, value: Any) -> None:
        if type(expr) is Signal and type(value) in (int, bool):  # not a flag, whose operators are other ones
            self._engine.set_signal(expr, int(value))
            self._engine.settle()
        else:
            super().set(expr, value)


class Process(AsyncProcess):
    """A process, or a testbench, with a context of ours."""

    def __init__(self, design: Any, engine: Any, constructor: Any, *, testbench: bool, background: bool) -> None:
        self.constructor = constructor
        self.context = (_TestbenchContext if testbench else _ProcessContext)(design, engine, self)
        self.background = background
        self.sample = TestbenchContext(design, engine, self).get
        self.reset()
