"""All sweeps, by name and letter, and how one is run."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from lanai_firmware import output_file
from lanai_host.errors import unknown

from ...executors.journal import Journal, each_kept
from ...executors.place import Place
from . import choice, matching, patterns, processor
from .point import Conclusion, Figures, Point, Sweep

SWEEPS: tuple[Sweep, ...] = (
    processor.CLOCK,
    processor.CACHE,
    matching.QUEUES,
    patterns.FAIRNESS,
    patterns.OVERLAP,
    matching.MATCHING,
    choice.STICKY,
    patterns.WINDOWS,
    choice.UNEVEN,
)


def find(name: str) -> Sweep:
    """Return the sweep with this name or letter."""
    for sweep in SWEEPS:
        if name in (sweep.name, sweep.letter):
            return sweep
    raise unknown("sweep", name, (sweep.name for sweep in SWEEPS))


def measure(name: str, point: Point) -> Figures:
    """For workers: one point of the sweep with that name."""
    return find(name).measure(point)


def run(
    sweep: Sweep, journal: Journal, quick: bool, place: Place, tell: Callable[[Point], None] = lambda point: None
) -> Conclusion:
    """Measure what the journal does not hold yet, and conclude from all."""
    return sweep.conclude(each_kept(journal, sweep.points(quick), partial(measure, sweep.name), place, tell))


# docs/papers/beyond-mpi-np.md: a section a sweep, put in by the sweep itself and replaced when it
# runs again.

PAGE = "beyond-mpi-np.md"
HEAD = """# Beyond MPI-NP

What the thesis could only guess, measured on the same gateware and firmware. `lanai sweep NAME
--output docs/papers` measures, draws and words each section; it prints the same figures.
"""


def begin(name: str) -> str:
    return f"<!-- sweep {name} -->"


def end(name: str) -> str:
    return f"<!-- end of {name} -->"


def section(sweep: Sweep, found: Conclusion) -> str:
    plots = "\n\n".join(f"![{plot.title}](figures/beyond-{name}.svg)" for name, plot in found.plots.items())
    heading = f"## ({sweep.letter}) {sweep.title}"
    return (
        f"{begin(sweep.name)}\n\n{heading}\n\n{found.paragraph}\n\n{plots}\n\n`lanai sweep "
        f"{sweep.name}`\n\n{end(sweep.name)}\n"
    )


def put(text: str, sweep: Sweep, found: Conclusion) -> str:
    """The page with this sweep's section new, sections in the order of letters."""
    sections = dict(_sections(text))
    sections[sweep.name] = sweep.letter, section(sweep, found)
    ordered = sorted(sections.values())
    return HEAD + "".join(f"\n{body}" for _, body in ordered)


def _sections(text: str) -> list[tuple[str, tuple[str, str]]]:
    """(name, (letter, section)) of each section there is."""
    found = []
    for part in text.split("<!-- sweep ")[1:]:
        name = part.split(" -->", 1)[0]
        body = "<!-- sweep " + part.split(end(name), 1)[0] + end(name) + "\n"
        letter = part.split("## (", 1)[1][0]
        found.append((name, (letter, body)))
    return found


def update(folder: Path, sweep: Sweep, found: Conclusion) -> None:
    path = folder / PAGE
    output_file.write(path, put(path.read_text() if path.exists() else "", sweep, found), "the page")
