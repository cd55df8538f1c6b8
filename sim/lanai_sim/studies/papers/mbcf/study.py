"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from ...drawing import Plot
from ..page import Frame
from ..studies import Study
from . import answers, experiments
from .npb import building

FRAME = Frame(
    title="MPI/MBCF, measured again",
    intro=(
        "MPI/MBCF (K. Morimoto, University of Tokyo, 1999) writes messages straight to the memory of receives "
        "that were posted first, and sends the others by FIFO. This page runs its measurements on our adapter "
        "and the device `mbcf`, and sets what it published beside what comes out. `lanai paper mbcf` writes it. [The "
        "mechanisms](mbcf-mechanisms.md) are on a page of their own.\n\n"
        "*100BASE-TX* is `--nic mbcf_100baset --host supersparc_85` on the fabrics `hub`, `csma` for the half-duplex "
        "part of table 4.2, and, full duplex, `switching-hub`; *Myrinet* is the project's testbed with the hosts of "
        "`pentium2_266`. Time is simulated.\n\n"
        "Six prices of that host are fitted on rows of tables 2.1 and 2.2 and four on rows of table 4.1, the least "
        "frame of the hub on a row of table 2.2 (`host/lanai_host/config.py` and "
        "`sim/lanai_sim/machine/fabrics/wires.py` name the rows). The rest is simulated.\n\n"
        "On `csma` NICs collide, on `hub` they take turns; nothing else differs. The half-duplex cells of table 4.2 "
        "come out near on `csma`; on `hub` they are too fast. The half-duplex rows of table 2.2 come out near on "
        "`hub`, on which one constant is fitted to them. On `csma` they are too slow, that of 64 bytes by half "
        "(experiment `primitives_colliding`): our adapter's answer to each packet collides with the packet behind "
        "it. Why collisions do not show in that table is not known.\n\n"
        "Two cells of table 2.2 are not within 6 %: 16 bytes on the hub, 1.27 MB/s where the paper has 1.15 and "
        "1.14. No choice of these constants reaches them. If the sender decides, its price for 16 bytes lies on a "
        "line between those for 4 and for 64, which the full-duplex rows hold to 12.38 and 13.98 us at most: 1.26 "
        "MB/s. If the wire decides, a frame and its answer take 13.13 us at least. Those of 64 bytes then take "
        "3.84 us more, 3.77 MB/s where the paper has 4.31. In the paper a packet takes 1.1, 1.3 and 1.6 us more "
        "on the hub than on the switch, with 4, 16 and 64 bytes, while the wire is not full. A sender that "
        "waits until its frame has left would explain that; ours does not wait.\n\n"
        "Tables 4.3 to 4.10 are measured with NPB 3.3 itself if the user has it: `lanai paper mbcf --npb DIR`, where "
        "DIR is its folder `NPB3.3-MPI`. It needs gfortran, MPICH's Fortran bindings and make. No part of NPB is kept "
        "here, and the folder stays as it is. A copy of it is built with `lanai mpifort --count` and linked with "
        "`totals.c`, which prints the device's counters at the end. Three things are replaced in the copy: the number "
        "of iterations, by 1 to 4 (in EP, and in class S of MG and IS, it stays); in a variant of MG and LU, the "
        "source of each nonblocking receive by `mpi_any_source`; class W of MG, which has 128 points a side and 4 "
        "iterations in NPB 3.3, by 64 and 40. NPB 3.3 names sources where the 2.3 of the paper did not. Each program "
        "first runs whole in class S on `ideal`, and must find its result right. The paper ran class W; class S, which "
        "is run on 4 processes too, has smaller problems, so smaller messages. A basic block takes as long as makes "
        "one process of class W as slow as the paper's (tables 4.4 to 4.10), so that sends and receives meet as they "
        "did there. Shares are of a whole run. Where the programs' buffers lie changes them by up to 0.5 points.\n\n"
        "Times of tables 4.4 to 4.10 are those that the programs print, to 0.01 s, of their timed part: of 2 "
        "iterations of class W (CG 1, MG 4), multiplied to the paper's number of them, by 5 (IS) to 200 (SP). EP's is "
        "that of class S, twice, as class W has twice as many random numbers. MG's and LU's receives name no source. "
        "What MG does before its first iteration is counted ten times too, 10 % of its time. A single process takes as "
        "long as the paper's by the choice of a block's price; what these times measure is what more processes add. "
        "The paper's hub switched, half duplex; ours is `switching-hub`, full duplex. *Without a "
        "network* is the same binary on `ideal`."
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
        setting, kind, way, size = name.split(".", 3)
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
    revision=6,
    inputs={"npb": building.check},
)
