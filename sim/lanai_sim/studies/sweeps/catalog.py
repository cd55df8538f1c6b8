"""All sweeps, by name and letter, and how one is run."""

from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path

from lanai_firmware import output_file
from lanai_host.errors import unknown

from ...executors.journal import Journal, each_kept
from ...executors.place import Place
from ...job.job import Job
from ...version import commit
from .. import ranks
from ..drawing import Plot
from . import generations, matching, patterns, processor
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line

# The choice of MPI/MBCF between remote writes and FIFOs (MB-G4): a sender that returns, and uneven computing.

MESSAGES = 48
AHEAD = 8  # receives that are posted at any time
SIZE = 512
LATE_US = (0, 200)  # until the receiver posts its first ones
PAUSES_US = (0, 10, 20, 40, 80)

# With it both programs begin: they read a counter of the NIC.
COUNTER = """
import ctypes, json, sys
from lanai_host.abi.tools import constant
from mpi4py import MPI

library = ctypes.CDLL("libmpi.so.12")
world = MPI.COMM_WORLD

def counter(name):
    level, index, session, handle = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    found, elements = ctypes.c_ulonglong(), ctypes.c_int()
    calls = [
        ("MPI_T_init_thread", 0, ctypes.byref(level)),
        ("MPI_T_pvar_get_index", name, constant("PVAR_CLASS_COUNTER"), ctypes.byref(index)),
        ("MPI_T_pvar_session_create", ctypes.byref(session)),
        ("MPI_T_pvar_handle_alloc", session, index, None, ctypes.byref(handle), ctypes.byref(elements)),
        ("MPI_T_pvar_read", session, handle, ctypes.byref(found)),
    ]
    for call, *arguments in calls:
        code = getattr(library, call)(*arguments)
        assert code == 0, (call, code)
    return found.value
"""

PROGRAM = (
    COUNTER
    + """
count, ahead, size, late, pause = map(int, sys.argv[2:])


def compute(seconds):
    begin = MPI.Wtime()
    while MPI.Wtime() < begin + seconds:
        pass


mine = bytearray(size)
before = counter(b"nic_mbcf_written")
if world.rank == 0:
    world.Barrier()
    for _ in range(count):
        world.Send(mine, 1)
        compute(pause * 1e-6)
    json.dump({"percent": 100 * (counter(b"nic_mbcf_written") - before) / count}, open(sys.argv[1], "w"))
else:
    if not late:
        waiting = [world.Irecv(bytearray(size), 0) for _ in range(ahead)]
    world.Barrier()
    if late:
        compute(late * 1e-6)
        waiting = [world.Irecv(bytearray(size), 0) for _ in range(ahead)]
    for number in range(count):
        waiting.pop(0).Wait()
        if number + ahead < count:
            waiting.append(world.Irecv(bytearray(size), 0))
"""
)


def sticky_points(quick: bool) -> list[Point]:
    return grid(late_us=LATE_US, pause_us=PAUSES_US[::2] if quick else PAUSES_US)


def measure_sticky(point: Point) -> Figures:
    """Percent of a stream's messages that went by remote write."""
    return ranks.measure(PROGRAM, (MESSAGES, AHEAD, SIZE, point["late_us"], point["pause_us"]), Job((), 2, "mbcf"))


def conclude_sticky(rows: Sequence[Row]) -> Conclusion:
    shares = {late: line(rows, "pause_us", "percent", late_us=late) for late in LATE_US}
    first, late = (shares[one] for one in LATE_US)
    stuck = max((pause for pause, share in late.items() if not share), default=0.0)
    figures = {f"sweep.sticky.{one}_us_late.{x:.0f}": v for one in LATE_US for x, v in shares[one].items()}
    listed = ", ".join(
        f"{first[pause]:.0f} % and {late[pause]:.0f} % with {pause:.0f} us between sends" for pause in sorted(first)
    )
    text = (
        f"{MESSAGES} messages of {SIZE} bytes go to a receiver that keeps {AHEAD} receives posted, the first of them "
        f"before the first message or {LATE_US[-1]} us late. By remote write go {listed}. A message by FIFO makes "
        f"all requests stale that were made before it, so a sender that is ahead and pauses for {stuck:.0f} us at "
        "most goes on by FIFO: the mode is sticky."
    )
    labels = {0: "receives first", LATE_US[-1]: f"receives {LATE_US[-1]} us late"}
    curves = {labels[one]: shares[one] for one in LATE_US}
    plots = {"sticky": Plot("Messages by remote write", "us between sends", "percent", curves)}
    return Conclusion(figures, text, plots)


STICKY = Sweep(
    "g", "sticky", "Whether a sender returns to remote writes", sticky_points, measure_sticky, conclude_sticky
)


# (i) Noise as a resource: what uneven computing does to the choice between remote writes and FIFOs.


STAGES = 24
CASES = ((2, 4096), (4, 4096), (2, 23_040))  # ranks, bytes of a message
WORK_US = {4096: 400, 23_040: 2000}  # of computing in a stage, by the bytes of its message: as in NPB's SP
LEADS = (0, 2)  # turns between a stage's receive and its send
JITTER = (0.0, 0.01, 0.03, 0.1, 0.3)
SR, NSR = 1, 0  # with requests, and without
STEP = 4_000  # picoseconds
TURN_US = 4  # a turn of a loop: two lines of Python, 500 steps each
OPTIONS = {"inline": 16, "record": 1408, "ask_from": 0, "first": 0, "alltoall": 0}  # as the thesis has them
HALF = 40, 60  # percent of the messages by remote write, about one half

NOISE_PROGRAM = (
    COUNTER
    + """
stages, size, turns, lead = map(int, sys.argv[2:])
left, right = (world.rank - 1) % world.size, (world.rank + 1) % world.size


def compute(turns):
    for _ in range(turns):
        pass


mine, theirs = bytearray(size), bytearray(size)
world.Barrier()
before, begin = counter(b"nic_mbcf_written"), MPI.Wtime()
for _ in range(stages):
    requests = [world.Irecv(theirs, left), lead and compute(lead), world.Isend(mine, right)]
    compute(turns)
    MPI.Request.Waitall([requests[0], requests[2]])
took, written = MPI.Wtime() - begin, counter(b"nic_mbcf_written") - before
took, written = world.reduce(took, MPI.MAX), world.reduce(written)
if world.rank == 0:
    found = {"stage_us": 1e6 * took / stages, "percent": 100 * written / (stages * world.size)}
    json.dump(found, open(sys.argv[1], "w"))
"""
)


def noise_points(quick: bool) -> list[Point]:
    """Without requests, a lead changes nothing but its own time."""
    jitter = (0.0, 0.03) if quick else JITTER
    return [
        {"ranks": ranks, "size": size, **point}
        for ranks, size in CASES[: 1 if quick else None]
        for point in grid(lead=LEADS, requests=(SR,), jitter=jitter) + grid(lead=(0,), requests=(NSR,), jitter=jitter)
    ]


def measure_noise(point: Point) -> Figures:
    """Microseconds of a stage of the slowest rank, and the percentage of the messages by remote write."""
    host = {"compute": STEP, "jitter": point["jitter"]}
    job = Job((), point["ranks"], "mbcf", options=OPTIONS | {"requests": point["requests"]}).but(host=host)
    turns = WORK_US[point["size"]] // TURN_US
    return ranks.measure(NOISE_PROGRAM, (STAGES, point["size"], turns, point["lead"]), job)


def conclude_noise(rows: Sequence[Row]) -> Conclusion:
    figures: Figures = {}
    told: list[str] = []
    shares: dict[str, dict[float, float]] = {}
    for many, size in dict.fromkeys((row.point["ranks"], row.point["size"]) for row in rows):
        where = {"ranks": many, "size": size}
        case = f"{size:,} B, {many} ranks"
        unasked = line(rows, "jitter", "stage_us", **where, requests=NSR)
        curves = {"nsr_us": unasked}
        for lead in LEADS:
            share = line(rows, "jitter", "percent", **where, requests=SR, lead=lead)
            asked = line(rows, "jitter", "stage_us", **where, requests=SR, lead=lead)
            shares[f"{case}, {lead * TURN_US} us ahead"] = {100 * x: y for x, y in share.items()}
            curves |= {f"lead_{lead}.percent": share, f"lead_{lead}.sr_us": asked}
            told.append(_told(f"{case}, {lead * TURN_US} us", share, asked, unasked))
        figures |= {
            f"sweep.noise.{size}_bytes.{many}_ranks.{name}.{100 * x:.0f}": y
            for name, curve in curves.items()
            for x, y in curve.items()
        }
    text = (
        "**Question.** A message is written straight to its receive if the receive's request reaches the sender in "
        "time. How even may ranks be for that, and does noise, which every cluster has and none can switch off, cost "
        "time?\n\n"
        f"**Method.** {STAGES} times each rank posts a receive, sends to its neighbour, computes and waits, as NPB's "
        f"SP does. The receive is posted with the send or {LEADS[1] * TURN_US} us ahead of it. Each stretch of "
        "computing is longer by a random part of it, up to the jitter, which a seed chooses.\n\n"
        "**Result.** In step it is all or nothing: what decides is whether the receive is ahead of the send by as much "
        "as a request takes. With noise the rank that is late finds the request of the one that is early, so about one "
        "half is written, whichever way the program is. That is what the thesis has for SP and BT. So noise costs time "
        "where ranks in step write all, and gains where they write nothing: less is lost by it than by missed "
        "requests.\n\n"
        "| bytes, ranks, ahead | in step: written, % | SR, us | NSR, us | jitter | with it: written, % | SR, us | NSR, "
        "us |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n" + "\n".join(told) + "\n\n"
        "**Limits.** One seed, one pattern, hosts and wire of the project's testbed. Sleep and interrupts, which are "
        "rare and long, are not such noise."
    )
    plots = {"noise": Plot("Messages by remote write", "jitter, percent of the computing", "percent", shares)}
    return Conclusion(figures, text, plots)


def _told(name: str, share: dict[float, float], asked: dict[float, float], unasked: dict[float, float]) -> str:
    """Return a row of the table: at the least jitter with which about one half is written, or at the largest."""
    first = min((x for x, y in share.items() if x and HALF[0] <= y <= HALF[1]), default=max(share))
    cells = (
        name, f"{share[0.0]:.0f}", f"{asked[0.0]:,.0f}", f"{unasked[0.0]:,.0f}",
        f"{100 * first:g} %", f"{share[first]:.0f}", f"{asked[first]:,.0f}", f"{unasked[first]:,.0f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


NOISE = Sweep("i", "noise", "Noise as a resource", noise_points, measure_noise, conclude_noise)


SWEEPS: tuple[Sweep, ...] = (
    processor.CLOCK,
    processor.CACHE,
    matching.QUEUES,
    patterns.FAIRNESS,
    patterns.OVERLAP,
    matching.MATCHING,
    STICKY,
    patterns.WINDOWS,
    NOISE,
    generations.GENERATIONS,
    generations.MOVERS_STUDY,
    matching.THICKNESS,
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
    number, dash, state = (commit() or "unknown").partition("-")
    measured = f"by commit `{number[:12]}{dash}{state}` on {date.today().isoformat()}"
    return (
        f"{begin(sweep.name)}\n\n{heading}\n\n{found.paragraph}\n\n{plots}\n\n`lanai sweep "
        f"{sweep.name}`, {measured}.\n\n{end(sweep.name)}\n"
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
