"""Table 4.3 with the NAS Parallel Benchmarks themselves."""

import tempfile
from pathlib import Path

from lanai_host.errors import UserError

from ...measuring import Figures
from .building import Sources
from .programs import PROGRAMS, Program
from .running import MACHINE, figures, is_verified, run, totals


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
                    text = run(binary, program.ranks, [*MACHINE, "--compute", f"counted:{program.step_ns}ns"])
                    name = ".".join(filter(None, ("theirs.npb", program.name, variant, kind)))
                    found |= {f"{name}.{what}": value for what, value in figures(totals(text)).items()}
    return found


def _verify(sources: Sources, program: Program) -> None:
    """The whole program of class S, without a NIC, finds what it should."""
    text = run(sources.build(program, program.ranks, "S"), program.ranks, ["--device", "ideal"])
    if not is_verified(text):
        raise UserError(f"NPB's {program.name.upper()} does not verify its result on `ideal`:\n{text}")
