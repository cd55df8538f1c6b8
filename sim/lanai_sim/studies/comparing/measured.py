"""One program on one system: what it printed, and figures that have the same name on all systems."""

import contextlib
import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lanai_host.config import HostCost
from lanai_host.errors import UserError
from lanai_host.stacks.base import NicStack
from lanai_host.stacks.on_adapter import AdapterStack

from ...job.job import Job
from ...job.result import Result
from ...job.warm import WarmServers
from ...trace import Trace
from ...trace.schema import HOST_KINDS, HostKind, Protocol, State
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
    """

    figures: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    mover: str = ""
    protocols: Mapping[str, int] = field(default_factory=dict)
    outputs: Sequence[str] = ()
    why: str = ""
    failed: bool = False

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
) -> Measured:
    """Run the program on a system. What its limits refuse, and what fails, is told.

    Args:
        limits: members of the job.
        trace: the run, where the system can be traced; else messages and copies are not known.
        store: keep the result in this one.
        servers: what gives the ranks, shared with other runs.
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
    return Measured(figures, reasons, mover(job), protocols(events), outputs)


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
