"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from collections.abc import Mapping

from ...drawing import Plot
from ..claims import load
from ..page import Cell, Frame, Grid, Section
from ..studies import Study
from . import answers, experiments, npb_build, primitives
from .experiments import BANDWIDTH_SIZES, ROUND_TRIP_SIZES
from .npb_build import PROGRAMS
from .times import TABLES, WAYS

# The thesis's tables, in its order.

MEANS = ("cg", "lu", "sp", "bt")  # programs for whose messages the thesis has a mean size
NINE = 9  # processes of SP and BT, which need a square


def _by_size(sizes: tuple[int, ...], columns: dict[str, str]) -> Grid:
    """A table by size; `columns`: heads, and what a claim's id begins with."""
    lines = {f"{size:,}": [f"{begin}.{size}" for begin in columns.values()] for size in sizes}
    return Grid(("bytes", *columns), lines)


def _shares() -> Grid:
    """Table 4.3 but MG, of which next to nothing is written."""
    lines: dict[str, list[Cell]] = {
        name.upper(): [f"t4_3.{name}", f"t4_3.mean.{name}" if name in MEANS else ""]
        for name in (program.name for program in PROGRAMS)
        if name != "mg"
    }
    return Grid(("program", "written, %", "bytes a message"), lines)


def _times() -> Grid:
    """Tables 4.4 to 4.10: SR and NSR on all processes and on four, and what the paper has for MPICH over TCP."""
    lines: dict[str, list[Cell]] = {}
    for program in PROGRAMS:
        begin = f"t4_{TABLES[program.name]}.{program.name}"
        half = 2 if program.ranks == NINE else 3  # processes in the claim: 1 and 4, or 1, 2 and 4
        fewer: list[Cell] = [(f"{begin}.fewer", half - 1), (f"{begin}.fewer", 2 * half - 1)]
        lines[f"{program.name.upper()}, {program.ranks}"] = [f"{begin}.sr", f"{begin}.nsr", *fewer, f"{begin}.mpich"]
    return Grid(("program, processes", *WAYS, *(f"{way}, on 4" for way in WAYS), "MPICH over TCP"), lines)


SECTIONS = (
    Section(
        "Tables 2.1 and 2.2: below MPI",
        "Microseconds one way, then MB/s of a stream on a hub that switches and on one that does not. Six prices of "
        "the kernel are fitted on rows of these tables, the least frame of the hub on one row; adapter and frames are "
        "simulated. Up to 64 bytes the sender's price for a command and an answer decides.\n\n"
        "No choice of these constants reaches 16 bytes on the hub. If the sender decides, its price lies on a line "
        "between those for 4 and 64 bytes, which the full-duplex rows hold to 1.26 MB/s. If the wire decides, 64 bytes "
        "become too slow, 3.77 MB/s. A sender that waits until its frame has left would explain the paper's rows; ours "
        "does not wait. With collisions (`primitives_colliding`) 64 bytes are too slow by half, as our adapter's "
        "answer to each packet collides with the packet behind it. Why collisions do not show in that table is not "
        "known.",
        grids=(
            _by_size(primitives.LATENCY_SIZES, {"remote write, us": "t2_1.write", "FIFO, us": "t2_1.fifo"}),
            _by_size(
                primitives.STREAM_SIZES,
                {
                    "write, switch": "t2_2.write",
                    "FIFO, switch": "t2_2.fifo",
                    "write, hub": "t2_2.writeh",
                    "FIFO, hub": "t2_2.fifoh",
                },
            ),
        ),
    ),
    Section(
        "Table 4.1: round trip",
        "A message and its answer, in microseconds: with requests (SR) and without (NSR). A notice costs the "
        "receiver less than a record that its kernel must take out of a FIFO; four prices of the library are fitted "
        "on rows of this table.",
        {
            "round_trip": (
                "Lines are ours, marks the thesis's numbers; Myrinet is the project's testbed. Requests shorten every "
                "round trip but those on Myrinet up to 64 bytes, which go by remote write either way."
            )
        },
        (_by_size(ROUND_TRIP_SIZES, {"SR": "t4_1.sr", "NSR": "t4_1.nsr"}),),
    ),
    Section(
        "Table 4.2: peak bandwidth",
        "MB/s of a stream on a hub that switches (`switching-hub`), and on one that does not (`csma`, with Ethernet's "
        "back-off). Up to 1,024 bytes the receiver's price for a record decides, then the wire; on the hub answers "
        "collide with data, and nothing is fitted on those columns. On `hub`, where NICs take turns, they are too "
        "fast.",
        {
            "bandwidth": (
                "Lines are ours, marks the thesis's numbers. On 100BASE-TX all curves meet at the wire's rate, full "
                "duplex sooner than half."
            )
        },
        (
            _by_size(
                BANDWIDTH_SIZES,
                {
                    "SR, switch": "t4_2.srf",
                    "NSR, switch": "t4_2.nsrf",
                    "SR, hub": "t4_2.srh",
                    "NSR, hub": "t4_2.nsrh",
                },
            ),
        ),
    ),
    Section(
        "Table 4.3: what goes by remote write",
        "Measured with NPB 3.3 itself if the user has it: `lanai paper mbcf --npb DIR`, where DIR is its folder "
        "`NPB3.3-MPI`. It needs gfortran, MPICH's Fortran bindings and make; nothing of NPB is kept here. A copy is "
        "built with `lanai mpifort --count`. Three things are replaced in it: the number of iterations, by 1 to 4; in "
        "MG and LU the source of each nonblocking receive by `mpi_any_source`, as NPB 3.3 names sources where the 2.3 "
        "of the paper did not; class W of MG by the paper's. Each program first runs whole in class S on `ideal`, and "
        "must find its result right. An instruction takes as long as makes one process of class W as slow as the "
        "paper's; these rows were measured when a basic block was the unit. Where buffers lie changes "
        "shares by up to 0.5 points.",
        grids=(_shares(),),
    ),
    Section(
        "Tables 4.4 to 4.10: NPB's times",
        "Seconds of the programs' timed part: of 2 iterations of class W (CG 1, MG 4), multiplied to the paper's "
        "number; EP's is that of class S, twice. A single process takes as long as the paper's by the choice of a "
        "price of computing; what is measured is what more processes add. The paper's hub switched, half duplex; "
        "ours is full duplex. MPICH over TCP is not simulated.",
        grids=(_times(),),
    ),
)


# Round trip and bandwidth by size, with the thesis's numbers.

Figures = Mapping[str, float]
NETWORKS = {"theirs": "100BASE-TX", "ours": "Myrinet"}


def of(figures: Figures) -> dict[str, Plot]:
    """By file name."""
    found = {
        "round_trip": Plot(
            "Round trip (table 4.1)", "bytes", "us", _curves(figures, "rtt"), _published("t4_1", "", ROUND_TRIP_SIZES),
            log="xy",
        ),
        "bandwidth": Plot(
            "Peak bandwidth (table 4.2)", "bytes", "MB/s",
            _curves(figures, "bandwidth") | _curves(figures, "half_duplex", ", half duplex"),
            _published("t4_2", "f", BANDWIDTH_SIZES) | _published("t4_2", "h", BANDWIDTH_SIZES, ", half duplex"),
            log="xy",
        ),
    }  # fmt: skip
    return {name: plot for name, plot in found.items() if any(plot.lines.values())}


def _curves(figures: Figures, what: str, more: str = "") -> dict[str, dict[float, float]]:
    curves: dict[str, dict[float, float]] = {}
    for name, value in figures.items():
        setting, kind, *rest = name.split(".")
        if kind == what:
            way, size = rest
            curves.setdefault(f"{way.upper()}, {NETWORKS[setting]}{more}", {})[float(size)] = value
    return curves


def _published(table: str, end: str, sizes: tuple[int, ...], more: str = "") -> dict[str, dict[float, float]]:
    """The numbers of a table, with requests and without."""
    values = {claim.id: claim.value for claim in load("mbcf")}
    return {
        f"{way.upper()}, in the thesis{more}": {
            float(size): value for size in sizes if (value := values[f"mbcf.{table}.{way}{end}.{size}"]) is not None
        }
        for way in ("sr", "nsr")
    }


FRAME = Frame(
    title="MPI/MBCF, measured again",
    believe=("tables 2.1 to 4.2: primitives, round trips and streams."),
    doubt=(
        "NPB's shares and times (4.3 to 4.10). They were measured with a price for a basic block, by ranks "
        "in step, over two iterations, and before `MPI_Isend` transmitted a long message by FIFO in its "
        "call. Three wires stand for one hub, each chosen because the others fail its table."
    ),
    open=(
        "whether SP is faster with requests once ranks are uneven (`lanai sweep jitter` says when they "
        "help), and why collisions do not show in table 2.2."
    ),
    intro=(
        "MPI/MBCF (K. Morimoto, University of Tokyo, 1999) writes messages straight to the memory of receives "
        "that were posted first, and sends the others by FIFO. This page runs its measurements on our adapter "
        "and the device `mbcf`, and sets what it published beside what comes out. `lanai paper mbcf` writes it. [The "
        "mechanisms](mechanisms.md#mbcf) are on a page of their own.\n\n"
        "*100BASE-TX* is `--nic mbcf_100baset --host supersparc_85` on the fabrics `hub`, `csma` for the half-duplex "
        "part of table 4.2, and, full duplex, `switching-hub`; *Myrinet* is the project's testbed with the hosts of "
        "`pentium2_266`. Time is simulated.\n\n"
        "Six prices of that host are fitted on rows of tables 2.1 and 2.2 and four on rows of table 4.1, the least "
        "frame of the hub and the bytes around a frame on rows of table 2.2, seven prices of computing on the "
        "paper's single processes (`host/lanai_host/config.py` and "
        "`sim/lanai_sim/machine/fabrics/wires.py` name the rows). The rest is simulated."
    ),
    ours="100BASE-TX",
    default="Myrinet",
    experiments=experiments.EXPERIMENTS,
    sections=SECTIONS,
)


STUDY = Study(
    paper="mbcf",
    frame=FRAME,
    experiments=experiments,
    ways=answers.ways,
    draw=of,
    why_not=answers.why_not,
    revision=6,
    inputs={"npb": npb_build.check},
    quick_minutes=1,
)
