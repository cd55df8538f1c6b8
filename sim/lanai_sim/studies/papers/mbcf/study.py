"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from ...drawing import Plot
from ..page import Frame
from ..studies import Study
from . import answers, experiments

FRAME = Frame(
    title="MPI/MBCF, measured again",
    intro=(
        "MPI/MBCF (K. Morimoto, University of Tokyo, 1999) writes messages straight to the memory of receives "
        "that were posted first, and sends the others by FIFO. This page runs its measurements on our adapter "
        "and the device `mbcf`, and sets what it published beside what comes out. `lanai paper mbcf` writes it.\n\n"
        "*100BASE-TX* is `--nic mbcf_100baset --host supersparc_85` on the fabrics `hub`, `csma` for the half-duplex "
        "part of table 4.2, and, full duplex, `switching-hub`; *Myrinet* is the project's testbed with the hosts of "
        "`pentium2_266`. Time is simulated.\n\n"
        "Six prices of that host are fitted on rows of tables 2.1 and 2.2 and four on rows of table 4.1, the least "
        "frame of the hub on a row of table 2.2 (`host/lanai_host/config.py` and "
        "`sim/lanai_sim/machine/fabrics/hub.py` name the rows). The rest is simulated.\n\n"
        "On `csma` NICs collide, on `hub` they take turns; nothing else differs. The half-duplex cells of table 4.2 "
        "come out near on `csma`; on `hub` they are too fast. The half-duplex rows of table 2.2 come out near on "
        "`hub`, on which one constant is fitted to them. On `csma` they are too slow, that of 64 bytes by half "
        "(experiment `primitives_colliding`): our adapter's answer to each packet collides with the packet behind "
        "it. Why collisions do not show in that table is not known."
    ),
    ours="100BASE-TX",
    default="Myrinet",
    experiments=experiments.EXPERIMENTS,
)


def draw(found: dict[str, float]) -> dict[str, Plot]:
    """Round trip and bandwidth by size."""
    return {
        "round_trip": Plot("Round trip", "bytes", "us", _curves(found, "rtt"), log="xy"),
        "bandwidth": Plot("Peak bandwidth", "bytes", "MB/s", _curves(found, "bandwidth"), log="x"),
    }


def _curves(found: dict[str, float], what: str) -> dict[str, dict[float, float]]:
    curves: dict[str, dict[float, float]] = {}
    for name, value in found.items():
        setting, kind, way, size = name.split(".")
        if kind == what and float(size):
            network = FRAME.ours if setting == "theirs" else FRAME.default
            curves.setdefault(f"{way.upper()}, {network}", {})[float(size)] = value
    return curves


STUDY = Study(
    paper="mbcf",
    frame=FRAME,
    experiments=experiments,
    ways=answers.ways,
    draw=draw,
    why_not=answers.why_not,
    revision=3,
)
