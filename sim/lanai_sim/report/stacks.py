"""Rebuild the firmware's call stacks from where its processor was.

The gateware shows which instruction retired, not its caller. But a compiled program enters a
function at its first instruction only, and leaves it to the function below it on the stack. So:
being at a function's first instruction after having been elsewhere is a call; being in the middle
of another function is a return to it. A function inlined into another shows as a leaf of its own
(`image.where` knows the lines that it was written in).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Stack = tuple[str, ...]


@dataclass
class Frames:
    """`entries`: address of the first instruction -> function; `holders`: any pc -> the function
    whose code it is."""

    entries: Mapping[int, str]
    stack: list[str] = field(default_factory=list)

    def step(self, pc: int, function: str) -> Stack:
        """The stack after the processor came to `pc`, which is in the compiled code of
        `function`."""
        stack = self.stack
        if not stack:
            stack.append(function)
        elif stack[-1] != function:
            if self.entries.get(pc) == function or function not in stack:
                stack.append(function)
            else:
                while stack[-1] != function:
                    stack.pop()
        return tuple(stack)


def fold(steps: Iterable[tuple[int, str, str, int]], entries: Mapping[int, str]) -> dict[Stack, int]:
    """Time by stack, from (pc, compiled function, function that the line was written in, time) in
    the order of execution."""
    frames = Frames(entries)
    totals: dict[Stack, int] = {}
    for pc, function, written_in, time in steps:
        stack = frames.step(pc, function)
        if written_in != function:
            stack = (*stack, written_in)
        totals[stack] = totals.get(stack, 0) + time
    return totals


def folded_text(totals: Mapping[Stack, int]) -> str:
    """One line a stack, "a;b;c 42", as flame graph tools and speedscope read it."""
    return "".join(f"{';'.join(stack)} {time}\n" for stack, time in sorted(totals.items()))
