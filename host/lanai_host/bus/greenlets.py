"""Host programs that share a process: each runs in a greenlet, a plain function whose waits let the others go on.

A bus of such a host calls `wait_for`; whoever runs the hosts (the scheduler of simulated time, Amaranth's simulator,
cocotb) awaits `run_in_greenlet` as it does any coroutine of its own."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

VALUE = TypeVar("VALUE")


class HostGreenlet(greenlet):
    """A host program under way. It switches to its parent with what it waits for."""


def wait_for(awaitable: Awaitable[VALUE]) -> VALUE:
    """Return what `awaitable` gives; other hosts go on meanwhile. Raises RuntimeError outside of a host's greenlet."""
    host = getcurrent()
    if not isinstance(host, HostGreenlet):
        close = getattr(awaitable, "close", None)
        if close is not None:
            close()
        raise RuntimeError("this bus shares its process with others: run the program by `run_in_greenlet`")
    assert host.parent is not None
    value: VALUE = host.parent.switch(awaitable)
    return value


async def run_in_greenlet(program: Callable[..., VALUE], *arguments: Any) -> VALUE:
    """Run a host program, a plain function, and return its result."""
    host = HostGreenlet(program)
    step, answer = host.switch, arguments
    while True:
        host.parent = getcurrent()
        found = step(*answer)
        if host.dead:
            result: VALUE = found
            return result
        try:
            step, answer = host.switch, (await found,)
        except BaseException as error:  # also GeneratorExit: the program's `finally` clauses run
            step, answer = host.throw, (error,)
