"""(f) Where a message meets its receive: at the receiver's NIC, at its sender, at the receiver's
host; on the same wire with the same hosts."""

from collections.abc import Sequence

from lanai_firmware.programs.mpi_np.layout import SLOTS

from ...job.job import Job
from .. import ranks
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line

SYSTEMS = {"mpi-np": "the receiver's NIC", "mbcf": "the sender", "sci": "the receiver's host"}
SIZES = (4, 64, 1024, 16384)
BEHIND = (0, 16, 64)
ROUNDS = 4

PROGRAM = """
import json, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
rounds, size, behind = map(int, sys.argv[2:])
peer = 1 - world.rank
mine, spans = bytearray(size), []
others = [world.Irecv(bytearray(4), peer, 100 + n) for n in range(behind)]
for _ in range(rounds):
    theirs = bytearray(size)
    receive = world.Irecv(theirs, peer, 1)
    world.Barrier()
    begin = MPI.Wtime()
    while MPI.Wtime() < begin + 5e-5 * (2 - world.rank):
        world.Iprobe(peer, 99)
    begin = MPI.Wtime()
    if world.rank == 0:
        world.Send(mine, peer, 1)
        receive.Wait()
    else:
        receive.Wait()
        world.Send(mine, peer, 1)
    spans.append(MPI.Wtime() - begin)
for number in range(behind):
    world.Send(bytes(4), peer, 100 + number)
MPI.Request.Waitall(others)
if world.rank == 0:
    json.dump({"one_way_us": 1e6 * min(spans) / 2}, open(sys.argv[1], "w"))
"""


def points(quick: bool) -> list[Point]:
    by_size = grid(system=list(SYSTEMS), size=SIZES[:3:2] if quick else SIZES, behind=[0])
    by_queue = grid(system=list(SYSTEMS), size=[4], behind=BEHIND[-1:] if quick else BEHIND[1:])
    return by_size + by_queue


def measure(point: Point) -> Figures:
    """One way of a message whose receive was posted before, behind so many that it does not
    match."""
    return ranks.measure(PROGRAM, (ROUNDS, point["size"], point["behind"]), Job((), 2, point["system"]))


def conclude(rows: Sequence[Row]) -> Conclusion:
    sizes = {one: line(rows, "size", "one_way_us", system=one, behind=0) for one in SYSTEMS}
    queues = {one: line(rows, "behind", "one_way_us", system=one, size=4) for one in SYSTEMS}
    figures = {f"sweep.matching.{one}.{size:.0f}_us": v for one in SYSTEMS for size, v in sizes[one].items()}
    figures |= {f"sweep.matching.{one}.behind_{n:.0f}_us": v for one in SYSTEMS for n, v in queues[one].items()}
    largest = max(sizes["mbcf"])

    def each(curves: dict[str, dict[float, float]], x: float) -> str:
        return ", ".join(f"{curves[one][x]:.1f} us with {one} ({place})" for one, place in SYSTEMS.items())

    depths = [depth for depth in sorted(queues["mbcf"]) if depth]
    behind = "; ".join(
        f"{', '.join(f'{queues[one][depth]:.1f} us with {one}' for one in SYSTEMS)} behind {depth:.0f}"
        for depth in depths
    )
    text = (
        f"A message of 4 bytes whose receive was posted before takes {each(sizes, 4.0)}, one of {largest:,.0f} bytes "
        f"{each(sizes, largest)}. Where older receives wait that it does not match, the message of 4 bytes takes "
        f"{behind} of them. A NIC of mpi-np holds {int(SLOTS)} requests of a rank; the host matches receives beyond "
        "them. Wire, NICs' buses and hosts are the same; mpi-np's NICs run firmware, the others' have the "
        "remote-memory adapter."
    )
    labels = {one: f"{one}: {place}" for one, place in SYSTEMS.items()}
    plots = {
        "matching": Plot("One way by size", "bytes", "us", {labels[one]: sizes[one] for one in SYSTEMS}, log="xy"),
        "matching-queue": Plot(
            "4 bytes behind other receives", "posted receives", "us", {labels[one]: queues[one] for one in SYSTEMS}
        ),
    }
    return Conclusion(figures, text, plots)


SWEEP = Sweep("f", "matching", "Where messages meet their receives", points, measure, conclude)
