"""Matching: against the length of queues, and at the receiver's NIC, at its sender, at the receiver's host."""

from collections.abc import Sequence

from lanai_firmware.programs.mpi_np.layout import SLOTS

from ...job.job import Job
from .. import ranks
from ..benches.p2p.pair import Buffer, Side, play
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line, setting

DEPTHS = (0, 1, 2, 4, 8, 16, 24, 32, 64, 128, 256)
QUICK = (0, 8, 32)
OTHER = 1000  # tags of messages that only stand in the way
LAST = 1
SETTLE = 50_000_000_000  # picoseconds after which all messages have got as far as they can


def queues_points(quick: bool) -> list[Point]:
    return grid(queue=("posted", "unexpected"), matching=("nic", "host"), depth=QUICK if quick else DEPTHS)


def measure_queues(point: Point) -> Figures:
    chosen = setting(host={"host_matching": point["matching"] == "host"})
    depth: int = point["depth"]
    program = {"posted": behind_posted, "unexpected": behind_unexpected}[point["queue"]]

    def run(side: Side) -> Figures:
        return program(side, depth)

    sent, received = play(chosen, run)
    return {
        "latency_us": (received["end"] - sent["begin"]) / 1e6,
        "send_us": (sent["end"] - sent["begin"]) / 1e6,
        "receive_us": received["posted"] / 1e6,
    }


def behind_posted(side: Side, depth: int) -> Figures:
    """A message for the last of `depth` + 1 posted receives, which wait for other tags."""
    buffers = [Buffer(4) for _ in range(depth)]
    if side.rank:
        posted = [side.receive(buffer, tag=OTHER + number) for number, buffer in enumerate(buffers)]
        result = take(side)
        side.meet()
        side.finish(*posted)
        return result
    result = give(side)
    side.meet()
    side.finish(*[side.send(buffer, tag=OTHER + number) for number, buffer in enumerate(buffers)])
    return result


def behind_unexpected(side: Side, depth: int) -> Figures:
    """A message for a posted receive, while `depth` others lie there that no receive has asked
    for."""
    buffers = [Buffer(4) for _ in range(depth)]
    if side.rank:
        side.meet()
        side.compute(SETTLE)
        result = take(side)
        side.meet()
        side.finish(*[side.receive(buffer, tag=OTHER + number) for number, buffer in enumerate(buffers)])
        return result
    sent = [side.send(buffer, tag=OTHER + number) for number, buffer in enumerate(buffers)]
    side.meet()
    side.compute(SETTLE)
    result = give(side)
    side.meet()
    side.finish(*sent)
    return result


def take(side: Side) -> Figures:
    """Post a receive and wait for its message: how long posting took, and when it was there."""
    buffer = Buffer(4)
    began = side.now
    operation = side.receive(buffer, tag=LAST)
    posted = side.now - began
    side.meet()
    side.finish(operation)
    return {"posted": posted, "end": side.now}


def give(side: Side) -> Figures:
    """Send that message, some time after the receiver has begun to wait."""
    side.meet()
    side.pause()
    buffer, began = Buffer(4), side.now
    operation = side.send(buffer, tag=LAST)
    end = side.now
    side.finish(operation)
    return {"begin": began, "end": end}


def conclude_queues(rows: Sequence[Row]) -> Conclusion:
    curves = {
        (queue, matching): line(rows, "depth", "latency_us", queue=queue, matching=matching)
        for queue in ("posted", "unexpected")
        for matching in ("nic", "host")
    }
    figures: Figures = {}
    for (queue, matching), curve in curves.items():
        for depth, value in curve.items():
            figures[f"sweep.queues.latency_us.{queue}.{matching}.{depth:g}"] = value
    within = {depth: value for depth, value in curves["posted", "nic"].items() if depth <= 32}
    deepest = max(within)
    figures["sweep.queues.us_per_posted_receive.nic"] = (within[deepest] - within[0]) / deepest
    worst = max(curves["posted", "nic"])
    lying, hosts = curves["unexpected", "nic"], curves["unexpected", "host"]
    few, many = max(depth for depth in lying if depth <= 8), max(lying)
    text = (
        "A posted receive that does not match costs the NIC "
        f"{figures['sweep.queues.us_per_posted_receive.nic']:.2f} us: behind "
        f"{deepest:g} of them 4 bytes "
        f"take {within[deepest]:.1f} us instead of {within[0]:.1f} us. Behind {worst:g} they take "
        f"{curves['posted', 'nic'][worst]:.1f} us, and with the "
        f"host matching {curves['posted', 'host'][worst]:.1f} us. Beside {few:g} unexpected messages a message "
        "for a posted receive takes "
        f"{lying[few]:.1f} us on the NIC and {hosts[few]:.1f} us with the host matching; beside {many:g}, "
        f"{lying[many]:.0f} us "
        f"and {hosts[many]:.0f} us: "
        "when half of a channel's 32 message slots are taken the driver moves the messages to the host one by "
        "one before it looks at "
        f"anything else, and beyond 32 the sender has to wait for that."
    )
    lines = {f"{queue}, {matching} matches": curve for (queue, matching), curve in curves.items()}
    plot = Plot(
        "4 bytes behind other receives and messages", "posted receives or unexpected messages", "us", lines, log="xy"
    )
    return Conclusion(figures, text, {"queues": plot})


QUEUES = Sweep("c", "queues", "Posted receives and unexpected messages", queues_points, measure_queues, conclude_queues)


# (f) Where a message meets its receive: at the receiver's NIC, at its sender, at the receiver's host; on the same
# wire with the same hosts.


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


def matching_points(quick: bool) -> list[Point]:
    by_size = grid(system=list(SYSTEMS), size=SIZES[:3:2] if quick else SIZES, behind=[0])
    by_queue = grid(system=list(SYSTEMS), size=[4], behind=BEHIND[-1:] if quick else BEHIND[1:])
    return by_size + by_queue


def measure_matching(point: Point) -> Figures:
    """One way of a message whose receive was posted before, behind so many that it does not
    match."""
    return ranks.measure(PROGRAM, (ROUNDS, point["size"], point["behind"]), Job((), 2, point["system"]))


def conclude_matching(rows: Sequence[Row]) -> Conclusion:
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


MATCHING = Sweep(
    "f", "matching", "Where messages meet their receives", matching_points, measure_matching, conclude_matching
)
