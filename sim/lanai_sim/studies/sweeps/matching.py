"""Matching: against the length of queues, and at the receiver's NIC, at its sender, at the receiver's host."""

from collections.abc import Sequence
from functools import partial
from math import inf

from lanai_firmware.programs.mpi_np.layout import SLOTS
from lanai_host.stacks.bip.attachment import BipOptions

from ...job.job import Job
from .. import ranks
from ..benches.p2p.pair import Buffer, Side, play
from ..benches.p2p.traffic import lost
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line, setting
from .processor import reaches

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


# (l) The thesis's verdict on thick NICs, and how much of it was its code: firmware that matches, and BIP's, by what
# the compiler does, by the NIC's clock, and by the receives that do not match.


CODES = {"straight": (2, 1), "full": (2, 0), "called": (1, 0), "written": (0, 0)}  # optimize, quick
MEGAHERTZ = (33, 133, 528)
AWAITED = (0, 24)  # receives before the one that matches
LONG = 16384
TODAY = "full"  # of the thin firmware, which has one path for all messages
SAYS = {
    "straight": "full, a straight path in the thick",
    "full": "full",
    "called": "functions called",
    "written": "as it is written",
}


def thickness_points(quick: bool) -> list[Point]:
    codes, clocks = (("straight", "full"), MEGAHERTZ[:1]) if quick else (tuple(CODES), MEGAHERTZ)
    return grid(nic=("thick",), code=codes, megahertz=clocks) + grid(
        nic=("thin",), code=[code for code in codes if code != "straight"], megahertz=clocks
    )


def measure_thickness(point: Point) -> Figures:
    """Microseconds of 4 bytes one way, by the receives before theirs, and what a long message takes from programs at
    both ends that compute meanwhile."""
    effort, quick = CODES[point["code"]]
    chosen = setting(mcp={"optimize": effort, "quick": quick}, megahertz=point["megahertz"])
    if point["nic"] == "thin":
        chosen = chosen.but(thin=BipOptions(optimize=effort))
    figures = {"taken_us": sum(lost(chosen, LONG).values())}
    for depth in AWAITED:
        sent, received = play(chosen, partial(behind_posted, depth=depth))
        figures[f"behind_{depth}_us"] = (received["end"] - sent["begin"]) / 1e6
    return figures


def conclude_thickness(rows: Sequence[Row]) -> Conclusion:
    codes = [code for code in CODES if line(rows, "megahertz", "taken_us", nic="thick", code=code)]
    names = ("behind_0_us", f"behind_{AWAITED[-1]}_us", "taken_us")

    def curve(nic: str, code: str, name: str) -> dict[float, float]:
        same = TODAY if nic == "thin" and code == "straight" else code
        return line(rows, "megahertz", name, nic=nic, code=same)

    figures, ratios, table = dict[str, float](), dict[str, dict[float, float]](), list[str]()
    for code in codes:
        both = {name: (curve("thin", code, name), curve("thick", code, name)) for name in names}
        for name, (thin, thick) in both.items():
            figures |= {f"sweep.thickness.{code}.thin.{name}.{mhz:g}": value for mhz, value in thin.items()}
            figures |= {f"sweep.thickness.{code}.thick.{name}.{mhz:g}": value for mhz, value in thick.items()}
        for mhz in both[names[0]][0]:
            cells = [f"{one[mhz]:,.1f}" for name in names for one in both[name]]
            table.append(f"| {SAYS[code]} | {mhz:g} | {' | '.join(cells)} |")
        for name, depth in zip(names, AWAITED, strict=False):
            thin, thick = both[name]
            ratios[f"{SAYS[code]}, behind {depth}"] = {mhz: thick[mhz] / thin[mhz] for mhz in thin}
        slow = min(both[names[0]][0])
        for name, target in (("same", code), ("today", TODAY)):
            factor = reaches(both[names[0]][1], curve("thin", target, names[0])[slow]) / slow
            figures |= {f"sweep.thickness.{code}.needed.{name}": factor} if factor < inf else {}
    text = (
        "**Question.** MPI-NP needs a processor 24 times as fast to match BIP, says the thesis, so for latency more "
        "work belongs on the host. Is that a verdict on thick NICs, on their compiler, or on their code?\n\n"
        "**Method.** Both firmwares run on the same NICs and hosts, made by the same compiler, which optimizes fully, "
        "leaves each function a call, or compiles statements as they are written. The thick one takes its straight "
        "path or, as in the thesis, one path for all messages. A message of 4 bytes meets its receive alone or "
        f"behind {AWAITED[-1]} others. A message of {LONG:,} bytes goes between programs that compute: what it takes "
        f"from both.\n\n**Result.** {told_of_thickness(figures)}\n\n"
        f"| code | MHz | 4 B, thin, us | thick | behind {AWAITED[-1]}, thin | thick | {LONG:,} B take, thin | thick |\n"
        f"|---|---:|{'---:|' * 6}\n" + "\n".join(table) + "\n\n"
        "**Limits.** One testbed, and one firmware of each kind. The clock is that of the NIC; bus, link and hosts "
        "stay."
    )
    plot = Plot("Thick over thin, 4 bytes one way", "MHz", "times", ratios, log="x")
    return Conclusion(figures, text, {"thickness": plot})


def told_of_thickness(figures: Figures) -> str:
    """Return what follows from the whole map; nothing from a part of it."""
    clocks = MEGAHERTZ[0], MEGAHERTZ[-1]

    def ratio(code: str, name: str, mhz: int) -> float:
        thin, thick = (figures[f"sweep.thickness.{code}.{nic}.{name}.{mhz}"] for nic in ("thin", "thick"))
        return thick / thin

    def each(name: str, mhz: int, *codes: str) -> str:
        return ", ".join(f"{ratio(code, name, mhz):.2f}" for code in codes)

    try:
        slow, fast = ([each(f"behind_{n}_us", mhz, *CODES) for n in AWAITED] for mhz in clocks)
        needed = {
            name: ", ".join(f"{figures[f'sweep.thickness.{code}.needed.{name}']:.1f}" for code in CODES)
            for name in ("same", "today")
        }
        taken = [ratio(code, "taken_us", mhz) for code in CODES for mhz in clocks]
    except KeyError:
        return "A few points only."
    return (
        f"At {clocks[0]} MHz a message alone takes {slow[0]} times as long on the thick NIC (straight path, one path, "
        "functions called, statements as written). So a poor compiler slows both alike: what the verdict was about is "
        "the one path for all messages. The compiler alone makes it only if just the thick firmware has a poor one: to "
        f"match the thin NIC's full code of {clocks[0]} MHz its clock must be {needed['today']} times as fast, and "
        f"{needed['same']} times to match thin code of the same compiler. None is the thesis's 24, which compares its "
        f"NICs' part with a guess of BIP's. Behind {AWAITED[-1]} receives the thick NIC takes {slow[1]} times as long, "
        f"as the host's processor searches faster. At {clocks[1]} MHz it takes {fast[0]} times as long alone, and "
        f"{fast[1]} behind {AWAITED[-1]}: there it searches faster. By what a long message takes from programs the "
        f"thick NIC is ahead with any code and clock: it is {100 * min(taken):.1f} to {100 * max(taken):.1f} % of the "
        "thin one's."
    )


THICKNESS = Sweep(
    "l", "thickness", "Thin or thick, by code and clock", thickness_points, measure_thickness, conclude_thickness
)
