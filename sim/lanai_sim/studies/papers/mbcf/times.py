"""Times of the NAS Parallel Benchmarks: what moves them, programs of the paper, and their tables."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lanai_host.errors import UserError

from ....job.job import Job
from ....machine.presets import mbcf_100baset
from .. import claims
from ..claims import Figures
from ..verdicts import NEAR, ByFigure, ByShape, Way
from ..verdicts import Figures as ReadFigures
from .npb_build import (
    ALONE,
    FEWER,
    FEWEST,
    MOST,
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
    marked,
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
        jitter: of the hosts.
        rate: kilobytes a second of each direction of a cable, instead of the wire's.
    """

    program: str
    name: str
    options: Mapping[str, int]
    fabric: str = ""
    jitter: float = 0.0
    rate: int = 0

    def machine(self, job: Job) -> Job:
        """The job with the wire that is changed."""
        if self.rate:
            job = job.but(nic=mbcf_100baset().but(link_kbytes=self.rate))
        return job.but(fabric=self.fabric) if self.fabric else job


HALF = mbcf_100baset().link_kbytes // 2  # what each direction has of a port in half duplex, if both are as busy
UNEVEN = 0.03  # at most so much of each stretch of computing
ROOMY = {"fifo_pages": 64}  # ten of SP's messages, where the default holds one
CHANGES = {
    "npb_ep_gather": (Change("ep", "gather", {"gather": 1}),),
    "npb_sp_fifo": (Change("sp", "fifo", ROOMY), Change("sp", f"fifo.{NSR}", {"requests": 0, **ROOMY})),
    "npb_sp_jitter": (
        Change("sp", "jitter", {}, jitter=UNEVEN),
        Change("sp", f"jitter.{NSR}", {"requests": 0}, jitter=UNEVEN),
    ),
    "npb_is_half_duplex": (
        Change("is", "half_duplex", {}, "hub"),
        Change("is", f"half_duplex.{NSR}", {"requests": 0}, "hub"),
        Change("is", "half_rate", {}, rate=HALF),
        Change("is", f"half_rate.{NSR}", {"requests": 0}, rate=HALF),
    ),
}


def causes_measured(experiment: str, quick: bool, folder: str) -> Figures:
    """The time and the traffic with each of an experiment's changes; none with `quick`. `folder` is the user's
    NPB3.3-MPI."""
    found: Figures = {}
    for change in () if quick else CHANGES[experiment]:
        (program,) = (one for one in PROGRAMS if one.name == change.program)
        host = {"compute": program.step, "jitter": change.jitter}
        job = ON_MACHINE.but(ranks=program.ranks, host=host, options=dict(change.options))
        with tempfile.TemporaryDirectory(prefix="lanai-npb-") as work:
            sources = Sources(Path(folder), Path(work))
            changed = _changed(sources, program, change.machine(job))
        begin = dotted(BEGIN, change.program, change.name)
        found |= {f"{begin}.{what}": value for what, value in changed.items()}
    return found


def _changed(sources: Sources, program: Benchmark, job: Job) -> dict[str, float]:
    if program.mark[0]:
        return iterated(sources, program, job)
    kind, times = program.whole
    text = run(sources.build(program, program.ranks, kind, program.iterations[kind], program.variant), job)
    return figures(totals(text)) | speed(text, times)


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
                    which = dotted(variant, kind)
                    if program.mark[0]:
                        found |= _measure_marked(sources, program, ranks, which)
                    else:
                        binary = sources.build(program, ranks, kind, iterations, variant)
                        found |= _measure(program, ranks, binary, which)
    return found


def iterated(sources: Sources, program: Benchmark, job: Job) -> dict[str, float]:
    """An iteration's figures, of a run of as many as it takes for the last two to agree, and how many that were."""
    kind, times = program.whole
    iterations = FEWEST
    while True:
        binary = sources.build(program, job.ranks, kind, iterations, program.variant)
        found, agrees = marked(run(binary, job), times)
        if agrees or 2 * iterations > MOST:
            return found | {"iterations": float(iterations), "agree": float(agrees)}
        iterations *= 2


def _measure_marked(sources: Sources, program: Benchmark, ranks: int, which: str) -> Figures:
    """Measure what `_measure` does, of an iteration of a program with marks."""
    how = {"ranks": ranks, "host": {"compute": program.step}}
    start = begin(program, ranks)
    with_requests = iterated(sources, program, ON_MACHINE.but(**how))
    found = {dotted(start, which, what): value for what, value in with_requests.items() if what != "seconds"}
    found[dotted(start, "seconds")] = with_requests["seconds"]
    ways = {NSR: ON_MACHINE.but(**how, options={"requests": 0})}
    if ranks == program.ranks:
        ways[ALONE] = WITHOUT_NETWORK.but(**how)
    return found | {
        dotted(start, way, "seconds"): iterated(sources, program, job)["seconds"] for way, job in ways.items()
    }


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
    "sp": (
        "On `ideal` nine ranks take 1.11 times a ninth of one's time, as they execute 1.10 times its instructions. The "
        "paper's took 1.08 times in all. Most of the rest is FIFOs that are full: one of 32 KiB, our choice, holds one "
        "message of SP and a third of the next, whose sender waits until the receiver has come to a call. The thesis "
        "does not say how long its FIFOs are."
    ),
    "bt": (
        "On `ideal` nine ranks take 1.21 times a ninth of one's time: 1.09 for more instructions, 1.11 for waits "
        "within an iteration, though the work of the ranks differs by 1 % in all. The paper's took 0.98 times in all, "
        "which only caches can give; ours have none."
    ),
}
ON_ONE = "On one wire that all share"
# Experiments that show why a time is what it is.
SHOWN = {"is": "npb_is_half_duplex", "sp": "npb_sp_fifo", "bt": "npb_bt"}
ON_FOUR = (
    "Judged by 4 processes. A single one takes as long as the paper's by the choice of an instruction's price; two "
    "were not run."
)
BETTER = (
    "By the speeds that the programs print, or by their iterations. LU's faces go to receives without a source, so "
    "requests gain it little, and cost time."
)

SP = (
    "A rank posts a stage's receive with its send, so of two that send to each other the later one writes: half. "
    "Experiment `npb_sp_jitter` makes ranks uneven (`lanai sweep noise`)."
)
NO_NPB = "Not in this run: it takes NPB, in the folder that `--npb DIR` names."
NOT_RUN = {"mpich": "MPICH over TCP is not simulated."}


def table(name: str) -> str:
    """The number of a program's table."""
    return f"4.{TABLES[name]}"


def ways() -> dict[str, Way]:
    found: dict[str, Way] = {
        "mbcf.s4_3.sr_better": ByShape(
            _are_faster, _gains, BETTER, lead=lambda f: min(1 / _gain(f, name) for name in FASTER)
        ),
        "mbcf.s4_3.sp_best": ByShape(lambda f: _gain(f, "sp") < 1, _sps, SP, lead=lambda f: 1 / _gain(f, "sp")),
        "mbcf.s4_3.bt_hidden": ByShape(lambda f: abs(_gain(f, "bt") - 1) < 0.03, lambda f: _words(f, "bt"), WHY["bt"]),
    }
    published = {claim.id: claim.values for claim in claims.load("mbcf")}
    for program in PROGRAMS:
        name, why = program.name, WHY[program.name]
        for way in ("sr", NSR):
            found[f"mbcf.{_claim(name, way)}"] = ByFigure(
                _figure(name, way), partial(_reason, name, why), experiment=SHOWN.get(name, "")
            )
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
    """With what it takes on `ideal`, and IS in half duplex: by ports whose directions have half the rate, and on one
    wire that all share; SP with longer FIFOs. SP's by uneven ranks is in `_sps`."""
    alone = figures.get(_figure(name, ALONE))
    why = why if alone is None else f"{why} Without a network: {alone:.4g} s."
    for how, words in (
        ("half_rate", "Half duplex by ports, each direction at half the rate:"),
        ("half_duplex", ON_ONE),
        ("fifo", "With FIFOs of 256 KiB"),
    ):
        half = [dotted(BEGIN, name, how, way, "seconds") for way in ("", NSR)]
        if figures.keys() >= {*half}:
            requested, without = (figures[one] for one in half)
            why = f"{why} {words} {requested:.4g} s with requests, {without:.4g} without."
    return why


def _gain(figures: ReadFigures, name: str) -> float:
    """The time with requests over that without, by the speeds; by the times, if a record has no speeds."""
    ways = ("sr", NSR)
    if all(_figure(name, way, "mops") in figures for way in ways):
        return figures[_figure(name, NSR, "mops")] / figures[_figure(name, "sr", "mops")]
    return figures[_figure(name, "sr")] / figures[_figure(name, NSR)]


def _words(figures: ReadFigures, name: str) -> str:
    return f"with requests {_gain(figures, name):.3f} times as long as without"


def _sps(figures: ReadFigures) -> str:
    """With ranks that compute unevenly."""
    ways = [dotted(BEGIN, "sp", "jitter", way, "seconds") for way in ("", NSR)]
    if not figures.keys() >= {*ways}:
        return _words(figures, "sp")
    uneven, without = (figures[one] for one in ways)
    share = figures[dotted(BEGIN, "sp", "jitter", "written_percent")]
    return (
        f"{_words(figures, 'sp')}; with ranks that compute up to {100 * UNEVEN:.0f} % unevenly "
        f"{uneven / without:.3f} times, and {share:.0f} % of the bytes are written"
    )


def _are_faster(figures: ReadFigures) -> bool:
    return all(_gain(figures, name) < 1 for name in FASTER)


def _gains(figures: ReadFigures) -> str:
    return ", ".join(f"{name.upper()} {_gain(figures, name):.2f}" for name in FASTER) + " times NSR"
