"""The firmware's processor cycles by function, source line and call stack. Sums equal the slots
that the processor ran."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any
from zlib import crc32

from lanai_hdl.errors import UserError

from ..trace import Trace
from ..trace.firmware import Place
from ..trace.schema import State
from .activity import short

# Rebuild the firmware's call stacks from where its processor was.
#
# The gateware shows which instruction retired, not its caller. But a compiled program enters a
# function at its first instruction only, and leaves it to the function below it on the stack. So:
# being at a function's first instruction after having been elsewhere is a call; being in the middle
# of another function is a return to it. A function inlined into another shows as a leaf of its own
# (`image.where` knows the lines that it was written in).

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


SLOTS_A_CYCLE = 2


@dataclass
class Cost:
    """LBUS slots that some code took, those of them in which it was held up on the LBUS, and
    instructions retired."""

    slots: int = 0
    stalled: int = 0
    instructions: int = 0

    def add(self, slots: int, stalled: int, instructions: int) -> None:
        self.slots += slots
        self.stalled += stalled
        self.instructions += instructions

    @property
    def cycles(self) -> float:
        return self.slots / SLOTS_A_CYCLE


@dataclass
class Profile:
    """A profile of one NIC or all. `lines` by (file, line); line 0 is code that LLVM added, such as a
    prologue."""

    total: Cost = field(default_factory=Cost)
    waiting: int = 0  # slots in the wait register
    held: int = 0  # slots before boot, in reset or trapped
    functions: dict[str, Cost] = field(default_factory=dict)
    lines: dict[tuple[str, int], Cost] = field(default_factory=dict)
    stacks: dict[Stack, int] = field(default_factory=dict)

    @property
    def elapsed(self) -> int:
        return self.total.slots + self.waiting + self.held


def profile(trace: Trace, node: int | None = None, boot: bool = False) -> Profile:
    """Sum up a trace's processors from the ranks' start on, or with `boot` from power-on. Raises
    UserError for a node that it has not."""
    if not len(trace.processor):
        raise UserError(f"{str(trace.path)!r} has no processor events: the run had no NIC (--device mpi-np has)")
    if node is not None and not 0 <= node < len(trace.nodes):
        raise UserError(f"--node {node}: the trace has nodes 0 to {len(trace.nodes) - 1}")
    result = Profile()
    for number in range(len(trace.nodes)) if node is None else [node]:
        rows = trace.processor[trace.processor["node"] == number]
        if not boot:
            rows = rows[trace.picoseconds(rows["begin"]) >= trace.started]
        steps = fold(_steps(result, trace, rows), trace.firmware.entries)
        for stack, slots in steps.items():
            result.stacks[stack] = result.stacks.get(stack, 0) + slots
    return result


def _steps(result: Profile, trace: Trace, rows: Any) -> Iterator[tuple[int, str, str, int]]:
    """Book each stretch, and pass it on for the stacks."""
    places: dict[int, Place] = {}
    columns = (rows[name].tolist() for name in ("state", "pc", "begin", "end", "stalled", "count"))
    for state, pc, begin, end, stalled, count in zip(*columns, strict=True):
        slots = end - begin
        if state == State.WAIT:
            result.waiting += slots
            continue
        if state != State.RUN:
            result.held += slots
            continue
        if pc not in places:
            places[pc] = trace.firmware.where(pc)
        place = places[pc]
        function = short(place.function)
        for cost in (
            result.total,
            result.functions.setdefault(function, Cost()),
            result.lines.setdefault((place.file, place.line), Cost()),
        ):
            cost.add(slots, stalled, count)
        yield pc, short(place.compiled), function, slots


def annotated(trace: Trace, result: Profile, file: str) -> Iterator[tuple[Cost | None, int, str]]:
    """A source file line by line, with what each cost."""
    for number, text in enumerate(trace.firmware.files[file].splitlines(), 1):
        yield result.lines.get((file, number)), number, text


def source_named(trace: Trace, name: str) -> str:
    """The one source file of the firmware that `name` means: a path, or its end."""
    close = [file for file in sorted(trace.firmware.files) if file == name or file.endswith("/" + name.lstrip("/"))]
    if len(close) == 1:
        return close[0]
    known = ", ".join(sorted(file.split("/")[-1] for file in trace.firmware.files))
    raise UserError(
        f"{'several sources end' if close else 'no source of the firmware ends'} in {name!r}; there are {known}"
    )


# A flame graph as one SVG: width is time, what stands on a box was called by it. Point at a box to
# read its share.

WIDTH, ROW, LETTER = 1200, 18, 6.6
NARROWEST = 0.4  # pixels; what is narrower is left out


@dataclass
class Box:
    """A function on a stack, with all that it called."""

    name: str
    time: int = 0
    children: dict[str, "Box"] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        return 1 + max((child.depth for child in self.children.values()), default=0)


def tree(totals: Mapping[Stack, int], root: str) -> Box:
    top = Box(root)
    for stack, time in totals.items():
        box = top
        box.time += time
        for name in stack:
            box = box.children.setdefault(name, Box(name))
            box.time += time
    return top


def svg(totals: Mapping[Stack, int], title: str, unit: str = "slots") -> str:
    """The picture; `totals` as `stacks.fold` gives them."""
    top = tree(totals, "all")
    height = (top.depth + 2) * ROW
    boxes: list[str] = []
    _draw(boxes, top, 0.0, height - ROW, WIDTH / max(top.time, 1), top.time, unit)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="monospace" '
        'font-size="11">'
        f'<text x="4" y="13" font-size="13" fill="currentColor">{escape(title)}</text>{"".join(boxes)}</svg>\n'
    )


def _draw(boxes: list[str], box: Box, x: float, y: float, scale: float, whole: int, unit: str) -> None:
    width = box.time * scale
    if width < NARROWEST:
        return
    share = 100 * box.time / max(whole, 1)
    label = box.name if len(box.name) * LETTER < width - 4 else box.name[: max(int((width - 8) / LETTER), 0)]
    boxes.append(
        f"<g><title>{escape(box.name)}: {box.time:,} {unit}, {share:.2f} %</title>"
        f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 1}" fill="{_colour(box.name)}"/>'
        f'<text x="{x + 3:.2f}" y="{y + 13}" pointer-events="none">{escape(label)}</text></g>'
    )
    for child in sorted(box.children.values(), key=lambda child: child.name):
        _draw(boxes, child, x, y - ROW, scale, whole, unit)
        x += child.time * scale


def _colour(name: str) -> str:
    """A warm colour, the same for a name always."""
    seed = crc32(name.encode())
    return f"hsl({20 + seed % 35} {65 + seed // 64 % 25}% {62 + seed // 4096 % 14}%)"
