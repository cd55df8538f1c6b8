"""Causes of figures that are far from the thesis: runs of NPB's programs with one thing changed."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lanai_host.errors import UserError

from .....job.job import Job
from ...claims import Figures
from .building import (
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
