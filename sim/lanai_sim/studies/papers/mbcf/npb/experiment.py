"""Tables 4.3 to 4.10 with the NAS Parallel Benchmarks themselves."""

import tempfile
from pathlib import Path

from lanai_host.errors import UserError

from .....job.job import Job
from ...measuring import Figures
from .building import Sources
from .programs import ALONE, FEWER, NSR, PROGRAMS, Program, begin, dotted
from .running import ON_MACHINE, WITHOUT_NETWORK, figures, is_verified, run, speed, totals


def measured(program: Program, quick: bool, folder: str) -> Figures:
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


def _measure(program: Program, ranks: int, binary: Path, which: str) -> Figures:
    """Measure the traffic of a binary. If it is the one that is timed, also measure its time with requests,
    without, and on all ranks without a network."""
    how = {"ranks": ranks, "host": {"compute": 1000 * program.step_ns}}
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


def _verify(sources: Sources, program: Program) -> None:
    """The whole program of class S, without a NIC, finds what it should."""
    text = run(sources.build(program, program.ranks, "S"), Job((), program.ranks))
    if not is_verified(text):
        raise UserError(f"NPB's {program.name.upper()} does not verify its result on `ideal`:\n{text}")
