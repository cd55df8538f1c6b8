"""The firmware's processor cycles by function, source line and call stack. Sums equal the slots
that the processor ran."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lanai_hdl.errors import UserError

from ..trace import Trace
from ..trace.firmware import Place
from ..trace.schema import State
from .activity import short
from .stacks import Stack, fold

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
