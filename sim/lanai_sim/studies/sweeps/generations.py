"""Generations of NICs, and movers of bytes: the same questions to several systems on one testbed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...job.job import Job
from ...job.settings import job_from
from .. import ranks
from ..benches import collectives, overlap, rate
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid

# (j) What each step from a NIC to the next one bought.

SYSTEMS = ("bip", "mpi-np", "mbcf", "sci", "lanai2")
LATE_US = 1000
FEW, MANY = 4, 8  # ranks of a skeleton and of nonblocking collectives, and of collectives
LONG = 16384  # bytes
EDGE, STEPS, WORK_US = 4096, 3, 300
OPERATIONS = ("barrier", "reduce_8", "allreduce_8")

# The skeleton of a particle code: swap edges with both neighbours while computing, then sum up.
SKELETON = """
import mmap, sys
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
steps, size, work = map(int, sys.argv[1:])
sides = [(world.rank + side) % world.size for side in (-1, 1)]
edges = [np.frombuffer(mmap.mmap(-1, size), "u1") for _ in range(4)]
energy, total = np.ones(1), np.zeros(1)
for _ in range(steps):
    waiting = [world.Irecv(edge, side, tag) for edge, side, tag in zip(edges, sides, (0, 1))]
    waiting += [world.Isend(edge, side, tag) for edge, side, tag in zip(edges[2:], sides, (1, 0))]
    end = MPI.Wtime() + 1e-6 * work
    while MPI.Wtime() < end:
        pass
    MPI.Request.Waitall(waiting)
    world.Allreduce(energy, total)
"""
CALLS = ("MPI_Irecv",) * 2 + ("MPI_Isend",) * 2 + ("MPI_Waitall", "MPI_Allreduce")  # of a step


def skeleton(system: str) -> Figures:
    """Microseconds that a step takes more than its computing, and host work of a rank in it. The first step, which
    pins pages, does not count."""
    program = ("python", "-c", SKELETON, *map(str, (STEPS + 1, EDGE, WORK_US)))
    trace = Job.on(system, program, FEW).run(trace=True).check().trace
    found = np.array([ranks.spans(trace, rank, CALLS) for rank in range(FEW)])[:, len(CALLS) :] / 1e6
    whole = found[:, -1, 1].max() - found[:, 0, 0].min()
    return {"step_us": whole / STEPS - WORK_US, "step_host_us": float(found[:, :, 2].sum() / STEPS / FEW)}


PARTS: dict[str, Callable[[str], Figures]] = {
    "pair": lambda system: rate.messages(Job.on(system, (), 2), queues=((0, 0), (32, 0))),
    "hidden": lambda system: overlap.measure(Job.on(system, (), FEW), LONG),
    "even": lambda system: collectives.measure(Job.on(system, (), MANY), OPERATIONS),
    "late": lambda system: collectives.measure(Job.on(system, (), MANY), ("reduce_8", "allreduce_8"), LATE_US, 1),
    "step": skeleton,
}


@dataclass(frozen=True)
class Question:
    """A row of a study's table. `drawn`: the picture has it."""

    title: str
    part: str
    figure: str
    places: int = 1
    drawn: bool = False

    @property
    def key(self) -> str:
        return f"{self.part}.{self.figure}" if self.part else self.figure


QUESTIONS = (
    Question("8 B one way, us", "pair", "behind_0.one_way_us", drawn=True),
    Question("... by ANY_SOURCE", "pair", "any_source.one_way_us"),
    Question("... behind 32 receives", "pair", "behind_32.one_way_us"),
    Question("8-byte messages a second", "pair", "behind_0.messages_per_s", 0),
    Question("16 KiB alone, us", "hidden", "receive.alone_us", drawn=True),
    Question("... hidden at the sender, %", "hidden", "send.hidden_percent", 0),
    Question("... hidden at the receiver, %", "hidden", "receive.hidden_percent", 0),
    Question(f"Iallreduce of 8 B, {FEW} ranks, hidden, %", "hidden", "allreduce_8.hidden_percent", 0),
    Question(f"barrier, {MANY} ranks, us", "even", "barrier.us"),
    Question(f"allreduce of 8 B, {MANY} ranks, us", "even", "allreduce_8.us", drawn=True),
    Question("... host work of a rank, us", "even", "allreduce_8.host_us", drawn=True),
    Question(f"reduce of 8 B, {MANY} ranks, us in the call", "even", "reduce_8.in_call_us"),
    Question(f"... one rank {LATE_US:,} us late", "late", "reduce_8.in_call_us", 0),
    Question("... host work of a rank, us", "late", "reduce_8.host_us"),
    Question("a step beside its computing, us", "step", "step_us", drawn=True),
    Question("... host work of a rank, us", "step", "step_host_us", drawn=True),
)


def generations_points(quick: bool) -> list[Point]:
    return grid(system=SYSTEMS[::4] if quick else SYSTEMS, part=("pair",) if quick else list(PARTS))


def measure_generations(point: Point) -> Figures:
    return PARTS[point["part"]](point["system"])


def answers(rows: Sequence[Row], questions: Sequence[Question]) -> dict[str, dict[str, float]]:
    """Return by system the figures of the questions that were asked, by part and name."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        asked = (one for one in questions if one.part == row.point["part"])
        found.setdefault(row.point["system"], {}).update({one.key: row.figures[one.figure] for one in asked})
    return {system: found[system] for system in SYSTEMS if system in found}


def table(columns: Mapping[str, Mapping[str, float]], questions: Sequence[Question]) -> str:
    """Return the figures in Markdown, a column for each system, without questions that no system was asked."""
    lines = [f"| | {' | '.join(f'`{name}`' for name in columns)} |", f"|---|{'---:|' * len(columns)}"]
    for one in questions:
        values = [column.get(one.key) for column in columns.values()]
        if any(value is not None for value in values):
            told = ("-" if value is None else f"{value:,.{one.places}f}" for value in values)
            lines.append(f"| {one.title} | {' | '.join(told)} |")
    return "\n".join(lines)


def conclude_generations(rows: Sequence[Row]) -> Conclusion:
    found = answers(rows, QUESTIONS)
    figures = {f"sweep.generations.{one}.{name}": v for one, column in found.items() for name, v in column.items()}
    first = next(iter(found.values()))
    lines: dict[str, dict[str, float]] = {}
    above = ""
    for one in QUESTIONS:
        above = above if one.title.startswith("...") else one.title.partition(",")[0]
        if one.drawn and one.key in first:
            name = f"{above}: host work" if "host work" in one.title else above
            lines[name] = {system: column[one.key] / first[one.key] for system, column in found.items()}
    text = (
        "**Question.** One NIC after the other took over a piece of MPI. What did each piece buy: in time, in work of "
        "the host, beside computing, and when a rank comes late?\n\n"
        "**Method.** The same programs, wire, bus, clock and hosts for all. The thin firmware of `bip` moves packets, "
        "and the host matches. The firmware of `mpi-np` matches too. On `mbcf` and `sci` gateware moves the bytes, or "
        "the processor's stores do, and the host matches. On `lanai2` gateware moves, matches, and combines single "
        "values. The step is that of "
        f"a particle code: {FEW} ranks swap {EDGE:,} bytes with two neighbours while they compute {WORK_US} us, and "
        "sum up 8 bytes. Host work is what a call takes of the processor besides waiting.\n\n"
        f"**Result.** {told_of_generations(found)}\n\n{table(found, QUESTIONS)}\n\n"
        "**Limits.** One testbed, few ranks, one rank that is late. `lanai dev bench rate`, `overlap` and "
        "`collectives` have other sizes, [the comparison of systems](../compare.md) has LAMMPS."
    )
    plot = Plot("What each generation bought", "", f"times that of {next(iter(found))}", lines, log="y")
    return Conclusion(figures, text, {"generations": plot})


def told_of_generations(found: Mapping[str, Mapping[str, float]]) -> str:
    """Return what follows from the whole table; nothing from a part of it."""
    if any(len(found.get(system, {})) < len(QUESTIONS) for system in SYSTEMS):
        return "A few points only."

    def each(figure: str, *systems: str, places: int = 0) -> str:
        return ", ".join(f"{found[system][figure]:,.{places}f} ({system})" for system in systems)

    short, step, work = "pair.behind_0.one_way_us", "step.step_us", "step.step_host_us"
    summed = "even.allreduce_8.us"
    received, late = "hidden.receive.hidden_percent", "late.reduce_8.in_call_us"
    return (
        f"Gateware is what makes a short message fast: {each(short, *SYSTEMS, places=1)} us. To match by firmware made "
        f"an allreduce slower: it takes {each(summed, *SYSTEMS)} us. To match in the NIC buys something else: a "
        "transfer goes on while the receiver computes. Of 16 KiB are "
        f"hidden {each(received, *SYSTEMS)} %. So a step takes, beyond its computing, {each(step, *SYSTEMS)} us, "
        f"with {each(work, *SYSTEMS)} us of host work. A rank that is late is waited for by those above it in the "
        f"tree, if the host climbs it: the others spend {each(late, *SYSTEMS)} us in a reduce."
    )


GENERATIONS = Sweep(
    "j", "generations", "What each generation bought", generations_points, measure_generations, conclude_generations
)


# (k) One way to send a message, and who moves its bytes. The receiver's host matches, but for the last.

ON_ADAPTER = {"blocks": ["remote"]}
MOVERS: dict[str, dict[str, Any]] = {
    "firmware puts": {"device": "t3d"},
    "stores, as the T3D": {"device": "t3d", "nic": ON_ADAPTER},
    "stores": {"device": "sci"},
    "adapter's DMA": {"device": "sci", "sci": {"way": "commands"}},
    "host copies": {"device": "sci", "ranks_per_node": 2, "nic": {**ON_ADAPTER, "remote": {"processes": 2}}},
    "data plane": {"device": "lanai2"},
}
SIZES = (8, 64, 512, 4096, 16384, 65536)
ROUNDS = 2

PING_PONG = """
import mmap, sys
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rounds, *sizes = map(int, sys.argv[1:])
for size in sizes:
    data = np.frombuffer(mmap.mmap(-1, size), "u1")
    for _ in range(rounds):
        if world.rank == 0:
            world.Send(data, 1)
            world.Recv(data, 1)
        else:
            world.Recv(data, 0)
            world.Send(data, 0)
"""


def movers_points(quick: bool) -> list[Point]:
    return grid(mover=list(MOVERS)[::5] if quick else list(MOVERS))


def measure_movers(point: Point) -> Figures:
    """One way and the work of both hosts for a message, by size; and what a long one hides."""
    program = ["python", "-c", PING_PONG, str(ROUNDS + 1), *map(str, SIZES)]
    job = job_from({"ranks": 2, "program": program, **MOVERS[point["mover"]]}, Job)
    trace = job.run(trace=True).check().trace
    calls = np.array([ranks.spans(trace, rank, ("MPI_Send", "MPI_Recv")) for rank in range(2)]) / 1e6
    timed = calls.reshape(2, len(SIZES), ROUNDS + 1, 2, 3)[:, :, 1:]  # rank, size, round, call, figure
    one_way = (timed[0, :, :, 1, 1] - timed[0, :, :, 0, 0]).min(1) / 2
    host = timed[..., 2].sum((0, 3)).min(1) / 2
    figures = {f"one_way_us.{size}": float(one) for size, one in zip(SIZES, one_way, strict=True)}
    figures |= {f"host_us.{size}": float(one) for size, one in zip(SIZES, host, strict=True)}
    hidden = overlap.measure(job, LONG)
    return figures | {f"hidden.{side}": hidden[f"{side}.hidden_percent"] for side in ("send", "receive")}


MOVED = (
    *(Question(f"{size:,} B one way, us", "", f"one_way_us.{size}") for size in SIZES),
    *(Question(f"work of both hosts for {size:,} B, us", "", f"host_us.{size}") for size in SIZES[::3] + SIZES[-1:]),
    Question(f"{LONG:,} B, hidden at the sender, %", "", "hidden.send", 0),
    Question(f"{LONG:,} B, hidden at the receiver, %", "", "hidden.receive", 0),
)


def conclude_movers(rows: Sequence[Row]) -> Conclusion:
    found = {row.point["mover"]: row.figures for row in rows}
    found = {mover: found[mover] for mover in MOVERS if mover in found}
    figures = {
        f"sweep.movers.{mover.replace(' ', '_')}.{name}": value
        for mover, column in found.items()
        for name, value in column.items()
    }
    times = {mover: {float(size): column[f"one_way_us.{size}"] for size in SIZES} for mover, column in found.items()}
    text = (
        "**Question.** The bytes of a message may be moved by firmware, by an adapter's DMA, by the processor's "
        "stores, by copies, or by a NIC that matches as well. What does the mover decide, and what the protocol?\n\n"
        "**Method.** Short messages go into a slot at the receiver, long ones wait for an address, and the receiver's "
        "host matches. The first two columns are one such protocol, `t3d`, once by firmware and once by stores through "
        "the adapter. The next three are another one, `sci`: by stores, by commands to the adapter (`way=commands`), "
        "and by copies between two ranks of one node. The last is `lanai2`, where gateware matches. Wire, bus, clock "
        "and hosts are the same.\n\n"
        f"**Result.** {told_of_movers(found)}\n\n{table(found, MOVED)}\n\n"
        "**Limits.** Two ranks that have nothing else to do. Ranks of one node share a bus and no wire. The host's "
        "stores are those of a Pentium II, 64 bytes a transaction."
    )
    plot = Plot("One way, by who moves the bytes", "bytes", "us", times, log="xy")
    return Conclusion(figures, text, {"movers": plot})


def told_of_movers(found: Mapping[str, Mapping[str, float]]) -> str:
    """Return what follows from the whole table; nothing from a part of it."""
    if len(found) < len(MOVERS):
        return "A few points only."
    least, most = SIZES[0], SIZES[-1]

    def ratio(one: str, other: str, figure: str) -> str:
        return f"{found[one][figure] / found[other][figure]:.1f} times"

    firmware, as_t3d, stores, dma, copies, plane = MOVERS
    times = {size: f"one_way_us.{size}" for size in (least, most)}
    work = f"host_us.{most}"
    return (
        f"With one protocol, {least} bytes by firmware take {ratio(firmware, as_t3d, times[least])} what they take by "
        f"stores, and {most:,} bytes {ratio(firmware, as_t3d, times[most])}. With one mover, stores, the protocol of "
        f"`t3d` takes {ratio(as_t3d, stores, times[least])} what that of `sci` takes for {least} bytes, and "
        f"{ratio(as_t3d, stores, times[most])} for {most:,}. The processor pays for stores: for {most:,} bytes both "
        f"hosts work {ratio(stores, dma, work)} as long as with DMA, and {ratio(stores, plane, work)} as long as with "
        f"the data plane. Copies in memory take {ratio(copies, plane, times[most])} the data plane's time for "
        f"{most:,} bytes, and hide nothing."
    )


MOVERS_STUDY = Sweep("k", "movers", "Who moves the bytes", movers_points, measure_movers, conclude_movers)
