"""Tables 4.3 to 4.10 with the NAS Parallel Benchmarks themselves."""

import tempfile
from pathlib import Path

from lanai_host.errors import UserError

from ...measuring import Figures
from .building import Sources
from .programs import ALONE, NSR, PROGRAMS, Program, dotted
from .running import MACHINE, WITHOUT_NETWORK, figures, is_verified, run, speed, totals


def measured(quick: bool, folder: str) -> Figures:
    """The figures of all programs, with `quick` of the first one. `folder` is the user's NPB3.3-MPI."""
    found: Figures = {}
    with tempfile.TemporaryDirectory(prefix="lanai-npb-") as work:
        sources = Sources(Path(folder), Path(work))
        for program in PROGRAMS[:1] if quick else PROGRAMS:
            _verify(sources, program)
            for kind, iterations in program.iterations.items():
                for variant in program.variants:
                    binary = sources.build(program, program.ranks, kind, iterations, variant)
                    found |= _measure(program, binary, dotted(variant, kind))
    return found


def _measure(program: Program, binary: Path, which: str) -> Figures:
    """What a binary sends; if it is the one that is timed, its time with requests, without, and without a network."""
    compute = ("--compute", f"counted:{program.step_ns}ns")
    begin = dotted("theirs.npb", program.name)
    texts = {"": run(binary, program.ranks, [*MACHINE, *compute])}
    found = {dotted(begin, which, what): value for what, value in figures(totals(texts[""])).items()}
    if which == program.timed:
        texts[NSR] = run(binary, program.ranks, [*MACHINE, *compute, "--option", "requests=0"])
        texts[ALONE] = run(binary, program.ranks, [*WITHOUT_NETWORK, *compute])
        _, times = program.whole
        for way, text in texts.items():
            found |= {dotted(begin, way, what): value for what, value in speed(text, times).items()}
    return found


def _verify(sources: Sources, program: Program) -> None:
    """The whole program of class S, without a NIC, finds what it should."""
    text = run(sources.build(program, program.ranks, "S"), program.ranks, ["--device", "ideal"])
    if not is_verified(text):
        raise UserError(f"NPB's {program.name.upper()} does not verify its result on `ideal`:\n{text}")
