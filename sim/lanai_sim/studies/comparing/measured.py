"""One program on one system: what it printed, and figures that have the same name on all systems."""

import contextlib
import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.table import Table

from lanai_host.config import HostCost
from lanai_host.errors import UserError
from lanai_host.stacks.base import NicStack
from lanai_host.stacks.on_adapter import AdapterStack

from ...job.forked import WarmServers
from ...job.job import Job
from ...job.result import Result
from ...report.page import run_data
from ...report.tables import table
from ...trace import Trace
from ...trace.schema import HOST_KINDS, HostKind, Protocol, State
from ...units import counted
from ..ranks import numbers

BODIES = frozenset({"EAGER", "EAGER_UNPAID", "ANSWER", "SHORT", "BYTES", "WRITE", "APPEND", "DATA"})  # types of packets
WORD = 4  # bytes
PID = re.compile(r" \(pid \d+\)")
NO_TRACE = "its firmware has no vocabulary for traces, so messages, copies and its work after the boot are not seen"
NO_CLOCK = "the adapter is gateware, and does not count the time that it works"
NO_NIC = "it has no NIC"
NOT_TRACED = "the run was not traced"
ON_NICS = frozenset({"pio_us", "nic_work_us", "packets", "wire_bytes", "control_packets"})


@dataclass(frozen=True)
class Figure:
    """A row of the table. `name`: in JSON; empty for words."""

    title: str
    name: str = ""
    places: int = 0


FIGURES = (
    Figure("simulated time, us", "simulated_us", 1),
    Figure("ranks waited, us", "waiting_us", 1),
    Figure("host work, us", "host_work_us", 1),
    Figure("PIO, us", "pio_us", 1),
    Figure("NIC processors worked, us", "nic_work_us", 1),
    Figure("packets", "packets"),
    Figure("on the wire, bytes", "wire_bytes"),
    Figure("control packets", "control_packets"),
    Figure("messages", "messages"),
    Figure("copied by hosts, bytes", "copied_bytes"),
)


@dataclass(frozen=True)
class Measured:
    """The figures of one system for a program.

    Attributes:
        figures: by the names of FIGURES; one that the system cannot tell is missing.
        reasons: why figures are missing, by their names.
        mover: the part that moves the bytes, in words.
        protocols: messages by protocol.
        outputs: what each rank printed.
        why: the reason for which there are no figures; empty if there are.
        failed: the program ran, and did not end well.
        page: what the page of a comparison shows of the run, if that is wanted.
    """

    figures: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    mover: str = ""
    protocols: Mapping[str, int] = field(default_factory=dict)
    outputs: Sequence[str] = ()
    why: str = ""
    failed: bool = False
    page: Mapping[str, Any] = field(default_factory=dict)

    @property
    def own(self) -> dict[str, float]:
        """The figures that rank 0 printed: the numbers of lines that are JSON objects."""
        return numbers(self.outputs[0] if self.outputs else "")


def measure(
    system: str,
    program: tuple[str, ...],
    ranks: int,
    limits: Mapping[str, Any] | None = None,
    trace: bool = True,
    store: str | None = None,
    servers: WarmServers | None = None,
    slices: int = 0,
) -> Measured:
    """Run the program on a system. What its limits refuse, and what fails, is told.

    Args:
        limits: members of the job.
        trace: the run, where the system can be traced; else messages and copies are not known.
        store: keep the result in this one.
        servers: what gives the ranks, shared with other runs.
        slices: of its timeline, for a page; 0: without a timeline.
    """
    try:
        job = Job.on(system, program, ranks, capture=True, **(limits or {}))
        trace = trace and traced(job)
        result = job.run(trace=trace, store=store, servers=servers)
    except UserError as error:
        return Measured(why=str(error))
    outputs = [output.stdout for output in result.outputs]
    if not result.ok:
        head = (result.report or f"the program ended with code {result.code}").partition("\n")[0]
        head = PID.sub("", head)
        return Measured(why=head, outputs=outputs, failed=True)
    events = result.trace if trace else None
    figures, reasons = {**of_run(job, result, events)}, {}
    if events is not None:
        figures |= of_trace(events)
        if has_firmware(job):
            figures["nic_work_us"] = processors(events)
    for one in FIGURES:
        if one.name not in figures:
            reasons[one.name] = reason(job, one.name, trace)
    shown = run_data(events, slices) if events is not None and slices else {}
    return Measured(figures, reasons, mover(job), protocols(events), outputs, page=shown)


def measure_parts(point: Mapping[str, Any], store: str | None = None) -> dict[str, dict[str, Any]]:
    """Return `measure` of the arguments of each part of a point, as values that JSON can hold. `files` only tells
    programs apart that have the same name. Ranks of all parts are forked from one process."""
    parts = {
        part: {name: value for name, value in one.items() if name != "files"} for part, one in point["parts"].items()
    }
    shared = WarmServers() if len(parts) > 1 else None
    with contextlib.closing(shared) if shared else contextlib.nullcontext():
        return {
            part: dataclasses.asdict(
                measure(point["system"], **{**one, "program": tuple(one["program"]), "store": store, "servers": shared})
            )
            for part, one in parts.items()
        }


def has_firmware(job: Job) -> bool:
    return isinstance(job.stack, NicStack) and job.stack.firmware is not None


def traced(job: Job) -> bool:
    """Return true if the system has traces."""
    stack = job.stack
    return not isinstance(stack, NicStack) or stack.vocabulary is not None


def of_run(job: Job, result: Result, trace: Trace | None) -> dict[str, float]:
    """Return the figures that every run counts."""
    run = result.figures
    found = {"simulated_us": run["run.simulated_us"]}
    if not job.stack.nics:
        return found | ({} if trace is None else _times(trace))
    found |= {name: run[f"run.{name}"] for name in ("waiting_us", "host_work_us", "pio_us")}
    found |= {"packets": run["run.tx_packets"], "wire_bytes": WORD * run["run.tx_flits"]}
    return found


def _times(trace: Trace) -> dict[str, float]:
    """The ranks' time where there are no NICs."""
    rows = trace.host
    spent = (rows["end"] - rows["begin"]) / 1e6
    waits = rows["kind"] == HostKind.WAIT
    return {"waiting_us": float(spent[waits].sum()), "host_work_us": float(spent[~waits].sum())}


def of_trace(trace: Trace) -> dict[str, float]:
    """Return the figures that only a trace has."""
    copied = trace.host["kind"] == HOST_KINDS.index(HostCost.COPY.name)
    found: dict[str, float] = {"messages": len(trace.messages), "copied_bytes": int(trace.host["count"][copied].sum())}
    if len(trace.nodes):
        kinds = Counter(trace.packets["kind"][trace.packets["message"] >= 0].tolist())
        name = str if trace.vocabulary is None else trace.vocabulary.type_name
        found["control_packets"] = len(trace.packets) - sum(kinds[kind] for kind in kinds if name(kind) in BODIES)
    return found


def processors(trace: Trace) -> float:
    """Microseconds of all NICs' processors since the ranks began, without what they waited for the LBUS."""
    rows = trace.processor[trace.processor["state"] == State.RUN]
    rows = rows[trace.picoseconds(rows["begin"]) >= trace.started]
    return float(trace.picoseconds(rows["end"] - rows["begin"] - rows["stalled"]).sum() / 1e6)


def protocols(trace: Trace | None) -> dict[str, int]:
    """Messages by protocol, the commonest first."""
    if trace is None:
        return {}
    counts = Counter(trace.messages["protocol"].tolist())
    return {Protocol(number).name.lower().replace("_", " "): count for number, count in counts.most_common()}


def mover(job: Job) -> str:
    """The part that moves the bytes of messages: readers shall not take a fast adapter for a merit of a protocol."""
    stack = job.stack
    if not isinstance(stack, NicStack):
        return "none: a line"
    if has_firmware(job):
        return f"firmware, {job.machine.nic.slot_khz / 2000:g} MHz"
    if isinstance(stack, AdapterStack) and stack.stores(job.chosen_options):
        return "processor, by stores"
    if job.machine.host.kernel.arrival:
        return "kernel (as adapter)"
    return f"adapter, {job.machine.nic.slot_khz / 1000:g} MHz"


def reason(job: Job, name: str, trace: bool) -> str:
    """Return why a figure is not known. `trace`: the run was traced."""
    if not job.stack.nics and name in ON_NICS:
        return NO_NIC
    if job.stack.nics and name == "nic_work_us" and not has_firmware(job):
        return NO_CLOCK
    return NO_TRACE if trace or not traced(job) else NOT_TRACED


# The kit of `lanai compare`: programs of ours that measure what readers of the papers ask first.

Programs = dict[str, tuple[tuple[str, ...], int]]  # by part: what each rank executes, and the number of ranks
RANKS = {"pair": 2, "one_sided": 2, "collectives": 8, "kernels": 4}  # by module of `programs`


def programs() -> Programs:
    """Return what each rank of each part executes, and the number of ranks."""
    folder = Path(str(files(__package__))) / "programs"
    return {part: (("python", str(folder / f"{part}.py")), ranks) for part, ranks in RANKS.items()}


def figures(parts: Mapping[str, Mapping[str, Measured]]) -> dict[str, dict[str, float]]:
    """Return by system what all parts printed."""
    systems = dict.fromkeys(name for found in parts.values() for name in found)
    return {name: {key: value for one in parts.values() for key, value in one[name].own.items()} for name in systems}


def answers(found: Mapping[str, Measured]) -> dict[str, Measured]:
    """Return what each system's ranks printed besides figures: this must not depend on the system."""
    return {
        name: dataclasses.replace(one, outputs=[_answer(text) for text in one.outputs]) for name, one in found.items()
    }


def _answer(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not numbers(line))


# The tables of a comparison, a column for each system, and what stands below them.

DASH = "-"
KIT = "The kit, on each system"
Found = Mapping[str, Measured]  # by system


def counters(found: Found) -> Table:
    """Return where the time went and what moved, by the same names on all systems."""
    made = table("What the runs took", ["", *found])
    for one in FIGURES:
        made.add_row(one.title, *(number(result.figures.get(one.name), one.places) for result in found.values()))
    made.add_row("bytes are moved by", *(result.mover.replace(", ", ",\n") or DASH for result in found.values()))
    for protocol in dict.fromkeys(name for result in found.values() for name in result.protocols):
        made.add_row(f"messages: {protocol}", *(number(result.protocols.get(protocol)) for result in found.values()))
    return made


def own(found: Mapping[str, Mapping[str, float]], title: str) -> Table:
    """The figures that a program printed itself."""
    made = table(title, ["", *found])
    for name in dict.fromkeys(name for values in found.values() for name in values):
        values = [values.get(name) for values in found.values()]
        places = 0 if max((abs(value) for value in values if value is not None), default=0) >= 10_000 else 1
        made.add_row(name, *(number(value, places) for value in values))
    return made


def number(value: float | None, places: int = 0) -> str:
    return DASH if value is None else f"{value:,.{places}f}"


def refusals(found: Found) -> Iterator[str]:
    """Say why systems have no figures."""
    for system, result in found.items():
        if result.why:
            yield f"{system}: {result.why}"


def notes(found: Found) -> Iterator[str]:
    """Say why there are dashes."""
    yield from refusals(found)
    reasons: dict[str, dict[str, list[str]]] = {}
    for system, result in found.items():
        for name, why in result.reasons.items():
            reasons.setdefault(why, {}).setdefault(system, []).append(name)
    for why, systems in reasons.items():
        yield f"{DASH} ({', '.join(systems)}): {why}"


def sameness(found: Found, answers: re.Pattern[str] | None = None) -> str:
    """Say whether the ranks printed the same on all systems, else what differs first. `answers`: only lines in which
    it is found count."""
    ran = {system: result.outputs for system, result in found.items() if not result.why}
    if len(ran) < 2:
        return "outputs are not compared: fewer than two systems ran the program"
    kept = {system: [matching(text, answers) for text in outputs] for system, outputs in ran.items()}
    if answers and not any(map(any, kept.values())):
        return f"outputs are not compared: no line has {answers.pattern!r}"
    first, *others = kept
    for other in others:
        if difference := first_difference(kept[first], kept[other]):
            rank, line, ours, theirs = difference
            which = "matching line" if answers else "line"
            return f"outputs differ, first in {which} {line} of rank {rank}: {first} {ours!r}, {other} {theirs!r}"
    if answers is None:
        return f"outputs are equal on all {len(ran)} systems"
    count = sum(len(text.splitlines()) for text in kept[first])
    return f"{counted(count, 'line')} of output with {answers.pattern!r}: equal on all {len(ran)} systems"


def matching(text: str, answers: re.Pattern[str] | None) -> str:
    """Return the lines that count."""
    if answers is None:
        return text
    return "".join(line for line in text.splitlines(keepends=True) if answers.search(line))


def first_difference(ours: Sequence[str], theirs: Sequence[str]) -> tuple[int, int, str, str] | None:
    """Return rank, line and both texts of the first line that differs; None if there is none."""
    for rank, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if mine != other:
            lines, others = [*mine.splitlines(keepends=True), ""], [*other.splitlines(keepends=True), ""]
            for number, (one, two) in enumerate(zip(lines, others, strict=False), start=1):
                if one != two:
                    return rank, number, one.rstrip("\n"), two.rstrip("\n")
    return None
