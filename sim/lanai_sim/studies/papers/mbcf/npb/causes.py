"""Causes of figures that are far from the thesis: runs of NPB's programs with one thing changed."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...measuring import Figures
from .building import Sources
from .programs import NSR, PROGRAMS, dotted
from .running import ON_MACHINE, figures, run, speed, totals

BEGIN = "theirs.npb.causes"


@dataclass(frozen=True)
class Change:
    """One thing that is changed.

    Attributes:
        program: which of NPB's; in the class of tables 4.4 to 4.10, on their processes.
        name: in the figures' names.
        options: of `mbcf`.
    """

    program: str
    name: str
    options: Mapping[str, int]


LONG_FIFO = 16  # pages: two of SP's messages of 23 KB fit
CHANGES = {
    "npb_ep_gather": (Change("ep", "gather", {"gather": 1}),),
    "npb_sp_fifo": (
        Change("sp", "long_fifo", {"fifo_pages": LONG_FIFO}),
        Change("sp", f"long_fifo.{NSR}", {"fifo_pages": LONG_FIFO, "requests": 0}),
    ),
}


def measured(experiment: str, quick: bool, folder: str) -> Figures:
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
            host = {"compute": 1000 * program.step_ns}
            text = run(binary, ON_MACHINE.but(ranks=program.ranks, host=host, options=dict(change.options)))
        begin = dotted(BEGIN, change.program, change.name)
        found |= {f"{begin}.{what}": value for what, value in (figures(totals(text)) | speed(text, times)).items()}
    return found
