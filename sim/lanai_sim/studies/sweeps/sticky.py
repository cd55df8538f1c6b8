"""(g) Whether a sender of MPI/MBCF that has begun to send by FIFO returns to remote writes (MB-G4)."""

from collections.abc import Sequence

from ...job.job import Job
from .. import ranks
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line

MESSAGES = 48
AHEAD = 8  # receives that are posted at any time
SIZE = 512
LATE_US = (0, 200)  # until the receiver posts its first ones
PAUSES_US = (0, 10, 20, 40, 80)

PROGRAM = """
import ctypes, json, sys
from lanai_host.abi.tools import constant
from mpi4py import MPI

library = ctypes.CDLL("libmpi.so.12")
world = MPI.COMM_WORLD
count, ahead, size, late, pause = map(int, sys.argv[2:])


def compute(seconds):
    begin = MPI.Wtime()
    while MPI.Wtime() < begin + seconds:
        pass


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


def points(quick: bool) -> list[Point]:
    return grid(late_us=LATE_US, pause_us=PAUSES_US[::2] if quick else PAUSES_US)


def measure(point: Point) -> Figures:
    """Percent of a stream's messages that went by remote write."""
    return ranks.measure(PROGRAM, (MESSAGES, AHEAD, SIZE, point["late_us"], point["pause_us"]), Job((), 2, "mbcf"))


def conclude(rows: Sequence[Row]) -> Conclusion:
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


SWEEP = Sweep("g", "sticky", "Whether a sender returns to remote writes", points, measure, conclude)
