"""The paper's experiments, each a function from `quick` to figures.

"theirs" is a host and a network like the paper's: 85 MHz SuperSPARC workstations on 100BASE-TX, with a hub
or, for what is full duplex, a hub that switches.
"ours" is the project's testbed: Pentium II hosts on Myrinet.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from lanai_host.config import supersparc_85
from lanai_host.stacks.mbcf.layout import MbcfOptions

from ....job.job import Job
from ....machine.machine import Machine
from ....machine.presets import mbcf_100baset
from ....tables import from_table
from ... import ranks
from ..claims import Experiment, Figures
from . import primitives, times
from .npb_build import OPTIONS, PROGRAMS

ROUND_TRIP_SIZES = (0, 4, 16, 64, 256, 1024, 4096)
BANDWIDTH_SIZES = (4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576)
OUR_SIZES = BANDWIDTH_SIZES[:8]
PHASE_SIZE = 256  # bytes
BEFORE = ((), (4,), (64,), (4, 16, 64), (128, 192, 224))  # sizes of streams before that one
KERNELS = {"is": ("integer_sort", (3 << 20, 1)), "mg": ("multigrid", (16, 1, 1)), "mg_named": ("multigrid", (16, 1, 0))}
KERNEL_RANKS = 8
CLOCK = 20_000_000  # picoseconds a look at the clock: kernels that compute look at nothing else


# The paper's two MPI programs (MB-B3, MB-B4), run by ranks of `lanai run`. Rank 0 writes what it measured to a file.


ROUND_TRIP = """
import json, mmap, random, sys
from mpi4py import MPI
world, turns = MPI.COMM_WORLD, int(sys.argv[2])
found, chance = {}, random.Random(world.rank)
memory = memoryview(mmap.mmap(-1, 32768))


def place(half, size):
    begin = 16384 * half + 16 * chance.randrange(256)
    return memory[begin : begin + size]


for size in map(int, sys.argv[3:]):
    times = []
    for _ in range(turns):
        mine, theirs = place(0, size), place(1, size)
        receive = world.Irecv(theirs, 1 - world.rank)
        world.Barrier()
        ready = MPI.Wtime() + 1e-4 * (2 - world.rank)
        while MPI.Wtime() < ready:  # the barrier has used up the requests: new ones come (MB-23)
            world.Iprobe(1 - world.rank, 1)
        start = MPI.Wtime()
        if world.rank == 0:
            world.Send(mine, 1)
            receive.Wait()
        else:
            receive.Wait()
            world.Send(mine, 0)
        times.append(MPI.Wtime() - start)
    found[size] = 1e6 * sum(times) / turns
if world.rank == 0:
    json.dump(found, open(sys.argv[1], "w"))
"""

BANDWIDTH = """
import json, sys
from mpi4py import MPI
world, total = MPI.COMM_WORLD, int(sys.argv[2])
found = {}
for size in map(int, sys.argv[3:]):
    buffer, count = bytearray(size), max(1, min(100, total // size))
    world.Barrier()
    start = MPI.Wtime()
    for _ in range(count):
        if world.rank == 0:
            world.Send(buffer, 1)
        else:
            world.Recv(buffer, 0)
    world.Barrier()
    found[size] = count * size / (MPI.Wtime() - start) / 1e6
if world.rank == 0:
    json.dump(found, open(sys.argv[1], "w"))
"""


@dataclass(frozen=True)
class Setting:
    """Hosts and NICs of a run."""

    name: str
    machine: Machine
    options: MbcfOptions


def theirs(fabric: str = "hub") -> Setting:
    options = from_table("[mbcf]", MbcfOptions(), OPTIONS)
    return Setting("theirs", Machine("mbcf_100baset", fabric, "supersparc_85"), options)


def ours() -> Setting:
    return Setting("ours", Machine(), MbcfOptions())


def measure(setting: Setting, requests: bool, program: str, arguments: Sequence[int]) -> dict[str, float]:
    """Return the figures that a program with two ranks measured, by size."""
    options = replace(setting.options, requests=requests)
    return ranks.measure(program, arguments, Job((), 2, "mbcf", setting.machine, options))


def both(setting: Setting, what: str, program: str, arguments: Sequence[int]) -> Figures:
    """With requests and without."""
    figures = {}
    for name, requests in (("sr", True), ("nsr", False)):
        for size, value in measure(setting, requests, program, arguments).items():
            figures[f"{setting.name}.{what}.{name}.{size}"] = value
    return figures


def round_trip(setting: Setting, quick: bool) -> Figures:
    return both(setting, "rtt", ROUND_TRIP, (8 if quick else 24, *ROUND_TRIP_SIZES))


def bandwidth(setting: Setting, sizes: Sequence[int], quick: bool, name: str = "bandwidth") -> Figures:
    chosen = sizes[:5] if quick else sizes
    return both(setting, name, BANDWIDTH, (32_768 if quick else 131_072, *chosen))


def phases(quick: bool) -> Figures:
    """Return the bandwidth of one size by FIFO, with collisions, behind streams of other sizes. The figures' numbers
    are those of `BEFORE`."""
    found: Figures = {}
    for number, before in enumerate(() if quick else BEFORE):
        speeds = measure(theirs("csma"), False, BANDWIDTH, (131_072, *before, PHASE_SIZE))
        found[f"theirs.phases.nsr.{PHASE_SIZE}.{number}"] = speeds[str(PHASE_SIZE)]
    return found


def kernels(quick: bool) -> Figures:
    """Table 4.3: the percentage of the bytes that goes by remote write, and each kernel's time."""
    setting = theirs("switching-hub")
    found: Figures = {}
    for name in ("mg",) if quick else KERNELS:
        module, arguments = KERNELS[name]
        program = f"from lanai_sim.studies.kernels.{module} import main; main()"
        machine = setting.machine.but(host=setting.machine.host.but(clock=CLOCK))
        figures = ranks.measure(program, arguments, Job((), KERNEL_RANKS, "mbcf", machine, setting.options))
        found |= {f"theirs.kernel.{name}.{what}": value for what, value in figures.items()}
    return found


def raw() -> Figures:
    found = primitives.figures(supersparc_85(), mbcf_100baset())
    return {f"theirs.{name}": value for name, value in found.items()}


def raw_colliding() -> Figures:
    found = primitives.colliding(supersparc_85(), mbcf_100baset())
    return {f"theirs.{name}": value for name, value in found.items()}


EXPERIMENTS = [
    Experiment("round_trip", "table 4.1: round trip, hosts and network like theirs", lambda q: round_trip(theirs(), q)),
    Experiment("primitives", "tables 2.1 and 2.2: Remote Write and FIFO below MPI, the same", lambda q: raw()),
    Experiment(
        "full_duplex",
        "table 4.2: peak bandwidth on a hub that switches",
        lambda q: bandwidth(theirs("switching-hub"), BANDWIDTH_SIZES, q),
    ),
    Experiment(
        "half_duplex",
        "table 4.2: peak bandwidth on a hub that does not, with collisions",
        lambda q: bandwidth(theirs("csma"), BANDWIDTH_SIZES, q, "half_duplex"),
    ),
    Experiment("phases", "table 4.2: 256 bytes by FIFO on that hub, behind streams of other sizes", phases),
    Experiment(
        "primitives_colliding",
        "table 2.2 on a hub, with collisions, and with reply on failure",
        lambda q: raw_colliding(),
    ),
    Experiment("kernels", "table 4.3: kernels of our own that communicate as NPB IS and MG do", kernels),
    *(
        Experiment(
            f"npb_{one.name}",
            f"tables 4.3 and {times.table(one.name)}: NPB's {one.name.upper()} itself (`--npb DIR`)",
            partial(times.measured, one),
            needs="npb",
        )
        for one in PROGRAMS
    ),
    *(
        Experiment(name, f"{says} (`--npb DIR`)", partial(times.causes_measured, name), needs="npb")
        for name, says in (
            ("npb_ep_gather", "table 4.3: EP, with reduces that gather at a root"),
            ("npb_sp_fifo", "tables 4.3 and 4.9: SP, with FIFOs of 256 KiB for each peer"),
            ("npb_sp_jitter", "tables 4.3 and 4.9: SP, by ranks that compute unevenly"),
            ("npb_is_half_duplex", "table 4.7: IS, on a hub in half duplex"),
        )
    ),
    Experiment("our_round_trip", "table 4.1 on the project's testbed", lambda q: round_trip(ours(), q)),
    Experiment("our_bandwidth", "table 4.2 on the project's testbed", lambda q: bandwidth(ours(), OUR_SIZES, q)),
]
