"""Times of the NAS Parallel Benchmarks: what moves them, programs of the paper, and their tables."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lanai_host.errors import UserError

from ....job.job import Job
from .. import claims
from ..claims import Figures
from ..verdicts import NEAR, ByFigure, ByShape, Way
from ..verdicts import Figures as ReadFigures
from .npb_build import (
    ALONE,
    FEWER,
    NSR,
    ON_MACHINE,
    PROGRAMS,
    WITHOUT_NETWORK,
    Benchmark,
    Sources,
    begin,
    dotted,
    figures,
    is_verified,
    run,
    speed,
    totals,
)

BEGIN = "theirs.npb.causes"


@dataclass(frozen=True)
class Change:
    """One thing that is changed.

    Attributes:
        program: which of NPB's; in the class of tables 4.4 to 4.10, on their processes.
        name: in the figures' names.
        options: of `mbcf`.
        fabric: instead of that of the tables.
        words: for the page.
    """

    program: str
    name: str
    options: Mapping[str, int]
    fabric: str = ""
    words: str = ""


LONG_TIMEOUT = 10_000  # microseconds
NEVER_DIRECT = 1 << 30  # bytes
LONG_FIFO = 16  # pages: two of SP's messages of 23 KB fit
CHANGES = {
    "npb_ep_gather": (Change("ep", "gather", {"gather": 1}),),
    "npb_sp_fifo": (
        Change("sp", "long_fifo", {"fifo_pages": LONG_FIFO}, words="FIFOs of 64 KiB"),
        Change("sp", f"long_fifo.{NSR}", {"fifo_pages": LONG_FIFO, "requests": 0}),
    ),
    "npb_sp_timeout": (Change("sp", "timeout", {"timeout": LONG_TIMEOUT}, words="a timeout of 10 ms"),),
    "npb_sp_copies": (Change("sp", "copies", {"direct": NEVER_DIRECT}, words="writes from copies"),),
    "npb_sp_half_duplex": (
        Change("sp", "half_duplex", {}, "hub", "a hub in half duplex"),
        Change("sp", f"half_duplex.{NSR}", {"requests": 0}, "hub"),
    ),
    "npb_is_half_duplex": (
        Change("is", "half_duplex", {}, "hub"),
        Change("is", f"half_duplex.{NSR}", {"requests": 0}, "hub"),
    ),
    "npb_sp_list": (Change("sp", "list", {"request_list": 1}, words="a list of requests"),),
}


def tried(program: str, found: Mapping[str, float]) -> str:
    """The time with requests over that without, with each change that was measured. A change that cannot act without
    requests is set against the run without them."""
    words = []
    for change in (one for changes in CHANGES.values() for one in changes if one.program == program and one.words):
        with_requests = found.get(dotted(BEGIN, program, change.name, "mops"))
        without = found.get(
            dotted(BEGIN, program, change.name, NSR, "mops"), found.get(f"theirs.npb.{program}.nsr.mops")
        )
        if with_requests and without:
            words.append(f"{change.words} {without / with_requests:.3f}")
    return ", ".join(words)


def causes_measured(experiment: str, quick: bool, folder: str) -> Figures:
    """The time and the traffic with each of an experiment's changes; none with `quick`. `folder` is the user's
    NPB3.3-MPI."""
    found: Figures = {}
    for change in () if quick else CHANGES[experiment]:
        (program,) = (one for one in PROGRAMS if one.name == change.program)
        kind, times = program.whole
        with tempfile.TemporaryDirectory(prefix="lanai-npb-") as work:
            binary = Sources(Path(folder), Path(work)).build(
                program, program.ranks, kind, program.iterations[kind], program.variant
            )
            host = {"compute": program.step}
            job = ON_MACHINE.but(ranks=program.ranks, host=host, options=dict(change.options))
            text = run(binary, job.but(fabric=change.fabric) if change.fabric else job)
        begin = dotted(BEGIN, change.program, change.name)
        found |= {f"{begin}.{what}": value for what, value in (figures(totals(text)) | speed(text, times)).items()}
    return found


# Tables 4.3 to 4.10 with the NAS Parallel Benchmarks themselves.


def measured(program: Benchmark, quick: bool, folder: str) -> Figures:
    """The figures of a program; with `quick` only those of the first one. `folder` is the user's
    NPB3.3-MPI."""
    if quick and program is not PROGRAMS[0]:
        return {}
    found: Figures = {}
    with tempfile.TemporaryDirectory(prefix="lanai-npb-") as work:
        sources = Sources(Path(folder), Path(work))
        _verify(sources, program)
        for kind, iterations in program.iterations.items():
            for ranks in (program.ranks, FEWER):
                for variant in program.variants(kind) if ranks == program.ranks else (program.variant,):
                    binary = sources.build(program, ranks, kind, iterations, variant)
                    found |= _measure(program, ranks, binary, dotted(variant, kind))
    return found


def _measure(program: Benchmark, ranks: int, binary: Path, which: str) -> Figures:
    """Measure the traffic of a binary. If it is the one that is timed, also measure its time with requests,
    without, and on all ranks without a network."""
    how = {"ranks": ranks, "host": {"compute": program.step}}
    start = begin(program, ranks)
    texts = {"": run(binary, ON_MACHINE.but(**how))}
    found = {dotted(start, which, what): value for what, value in figures(totals(texts[""])).items()}
    if which == program.timed:
        texts[NSR] = run(binary, ON_MACHINE.but(**how, options={"requests": 0}))
        if ranks == program.ranks:
            texts[ALONE] = run(binary, WITHOUT_NETWORK.but(**how))
        _, times = program.whole
        for way, text in texts.items():
            found |= {dotted(start, way, what): value for what, value in speed(text, times).items()}
    return found


def _verify(sources: Sources, program: Benchmark) -> None:
    """The whole program of class S, without a NIC, finds what it should."""
    text = run(sources.build(program, program.ranks, "S"), Job((), program.ranks))
    if not is_verified(text):
        raise UserError(f"NPB's {program.name.upper()} does not verify its result on `ideal`:\n{text}")


# The paper's two MPI programs (MB-B3, MB-B4), run by ranks of `lanai run`. Rank 0 writes what it measured to a file.


ROUND_TRIP = """
import json, mmap, random, sys
from mpi4py import MPI
world, turns = MPI.COMM_WORLD, int(sys.argv[2])
found, chance = {}, random.Random(world.rank)
memory = memoryview(mmap.mmap(-1, 32768))


def place(half, size):
    begin = 16384 * half + 16 * chance.randrange(256)
    return memory[begin : begin + size]


for size in map(int, sys.argv[3:]):
    times = []
    for _ in range(turns):
        mine, theirs = place(0, size), place(1, size)
        receive = world.Irecv(theirs, 1 - world.rank)
        world.Barrier()
        ready = MPI.Wtime() + 1e-4 * (2 - world.rank)
        while MPI.Wtime() < ready:  # the barrier has used up the requests: new ones come (MB-23)
            world.Iprobe(1 - world.rank, 1)
        start = MPI.Wtime()
        if world.rank == 0:
            world.Send(mine, 1)
            receive.Wait()
        else:
            receive.Wait()
            world.Send(mine, 0)
        times.append(MPI.Wtime() - start)
    found[size] = 1e6 * sum(times) / turns
if world.rank == 0:
    json.dump(found, open(sys.argv[1], "w"))
"""

BANDWIDTH = """
import json, sys
from mpi4py import MPI
world, total = MPI.COMM_WORLD, int(sys.argv[2])
found = {}
for size in map(int, sys.argv[3:]):
    buffer, count = bytearray(size), max(1, min(100, total // size))
    world.Barrier()
    start = MPI.Wtime()
    for _ in range(count):
        if world.rank == 0:
            world.Send(buffer, 1)
        else:
            world.Recv(buffer, 0)
    world.Barrier()
    found[size] = count * size / (MPI.Wtime() - start) / 1e6
if world.rank == 0:
    json.dump(found, open(sys.argv[1], "w"))
"""


# Tables 4.4 to 4.10: how long NPB's programs take on the largest number of processes, and on 4.


TABLES = {"ep": 4, "mg": 5, "cg": 6, "is": 7, "lu": 8, "sp": 9, "bt": 10}
FASTER = ("cg", "is", "lu", "sp")  # with requests, says the paper
WAYS = {"SR": "", "NSR": NSR}
WHY = {
    "ep": "It computes and sends next to nothing.",
    "mg": "Faces of a grid go to receives without a source, so by FIFO, with requests or without.",
    "cg": "On `ideal` already eight ranks take 1.23 times an eighth of one's time. Half of the bytes is written.",
    "is": (
        "The all-to-all decides. With requests it is written, both ways at once here and in turns on the paper's half "
        "duplex; without, receivers take it out of their FIFOs, which takes longer than the wire."
    ),
    "lu": "Planes pass from rank to rank. Without named sources few messages can be written, so requests gain nothing.",
    "sp": "On `ideal` already nine ranks take 1.27 times a ninth of one's time; the paper's took 1.08 times in all.",
    "bt": "On `ideal` already nine ranks take 1.49 times a ninth of one's time; the paper's took 0.98 times in all.",
}
ON_FOUR = (
    "Judged by 4 processes. A single one takes as long as the paper's by the choice of an instruction's price; two "
    "were not run."
)
BETTER = (
    "By the speeds that the programs print. LU's receives name no source, so it takes as long either way. SP's cause "
    "is not known; what was tried stands in its own row."
)

SP = (
    "Cause not known. A full FIFO is not it: messages of 23 KB do not fit in a FIFO of 32 KiB that holds another one, "
    "but larger FIFOs change little."
)
NO_NPB = "Not in this run: it takes NPB, in the folder that `--npb DIR` names."
NOT_RUN = {"mpich": "MPICH over TCP is not simulated."}


def table(name: str) -> str:
    """The number of a program's table."""
    return f"4.{TABLES[name]}"


def ways() -> dict[str, Way]:
    found: dict[str, Way] = {
        "mbcf.s4_3.sr_better": ByShape(_are_faster, _gains, BETTER),
        "mbcf.s4_3.sp_best": ByShape(lambda f: _gain(f, "sp") < 0.97, _sps, SP),
        "mbcf.s4_3.bt_hidden": ByShape(lambda f: abs(_gain(f, "bt") - 1) < 0.03, lambda f: _words(f, "bt"), WHY["bt"]),
    }
    published = {claim.id: claim.values for claim in claims.load("mbcf")}
    for program in PROGRAMS:
        name, why = program.name, WHY[program.name]
        for way in ("sr", NSR):
            found[f"mbcf.{_claim(name, way)}"] = ByFigure(_figure(name, way), partial(_reason, name, why))
        fewer = f"mbcf.{_claim(name, 'fewer')}"
        found[fewer] = _on_four(program, published[fewer])
    return found


def why_not() -> dict[str, str]:
    """Reasons, by the beginning of a claim's id without the paper's name."""
    found = {_claim(name): NO_NPB for name in TABLES} | dict.fromkeys(
        ("s4_3.sr_better", "s4_3.sp_best", "s4_3.bt_hidden"), NO_NPB
    )
    return found | {_claim(name, what): why for name in TABLES for what, why in NOT_RUN.items()}


def _on_four(program: Benchmark, published: Sequence[float]) -> ByShape:
    """Within 10 % of the paper's times on 4 processes. Of both ways the last is that on 4."""
    half = len(published) // 2
    theirs = dict(zip(WAYS, (published[half - 1], published[-1]), strict=True))

    def ours(figures: ReadFigures) -> dict[str, float]:
        start = begin(program, FEWER)
        return {name: figures[dotted(start, way, "seconds")] for name, way in WAYS.items()}

    def holds(figures: ReadFigures) -> bool:
        return all(abs(seconds / theirs[name] - 1) < NEAR for name, seconds in ours(figures).items())

    def saw(figures: ReadFigures) -> str:
        words = (f"{name} {seconds:.4g} s (paper {theirs[name]:g})" for name, seconds in ours(figures).items())
        return f"{FEWER} processes: " + ", ".join(words)

    def values(figures: ReadFigures) -> list[float | None]:
        """Return the claim's values: none on fewer than four processes."""
        left: list[float | None] = [None] * (half - 1)
        return [one for seconds in ours(figures).values() for one in (*left, seconds)]

    return ByShape(holds, saw, ON_FOUR, values)


def _claim(name: str, what: str = "") -> str:
    return dotted(f"t4_{TABLES[name]}", name, what)


def _figure(name: str, way: str, what: str = "seconds") -> str:
    return dotted("theirs.npb", name, "" if way == "sr" else way, what)


def _reason(name: str, why: str, figures: ReadFigures) -> str:
    """With what it takes on `ideal`, and IS on one wire that all share: the paper's hub switched, half duplex, and
    lies between that and ours. SP's is in `_sps`."""
    alone = figures.get(_figure(name, ALONE))
    why = why if alone is None else f"{why} Without a network: {alone:.4g} s."
    half = [dotted(BEGIN, name, "half_duplex", way, "seconds") for way in ("", NSR)]
    if name != "is" or not figures.keys() >= {*half}:
        return why
    requested, without = (figures[one] for one in half)
    return f"{why} On one wire that all share {requested:.4g} s with requests, {without:.4g} without."


def _gain(figures: ReadFigures, name: str) -> float:
    """The time with requests over that without, by the speeds; by the times, if a record has no speeds."""
    ways = ("sr", NSR)
    if all(_figure(name, way, "mops") in figures for way in ways):
        return figures[_figure(name, NSR, "mops")] / figures[_figure(name, "sr", "mops")]
    return figures[_figure(name, "sr")] / figures[_figure(name, NSR)]


def _words(figures: ReadFigures, name: str) -> str:
    return f"with requests {_gain(figures, name):.3f} times as long as without"


def _sps(figures: ReadFigures) -> str:
    """With what else was tried."""
    others = tried("sp", figures)
    return _words(figures, "sp") + (f"; with one thing changed: {others}" if others else "")


def _are_faster(figures: ReadFigures) -> bool:
    return all(_gain(figures, name) < 1 for name in FASTER)


def _gains(figures: ReadFigures) -> str:
    return ", ".join(f"{name.upper()} {_gain(figures, name):.2f}" for name in FASTER) + " times NSR"
