"""One-sided programs under `lanai run`: what reports say of them."""

import pytest

from .jobs import together

pytest.importorskip("mpi4py")

SETUP = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
win = MPI.Win.Allocate(80, 8, comm=comm)
win.Set_name("table")
"""


@pytest.fixture
def script(tmp_path):
    def write(text):
        path = tmp_path / "program.py"
        path.write_text(SETUP + text)
        return str(path)

    return write


def test_a_deadlock_report_names_window_target_and_epoch(script):
    program = script("""
if comm.rank == 0:
    win.Lock(0)
    comm.Recv(bytearray(1), 1, 5)
else:
    win.Lock(0)
""")
    done = together(2, "python", program)
    assert done.returncode != 0
    assert f"waits in MPI_Win_lock at {program}:12, peer 0, exclusive lock of rank 0 on window table" in done.stderr
    assert "circle of waits:" in done.stderr


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("win.Start(win.group.Incl([1])); win.Put(bytearray(8), 1)", "MPI_Put at {}:9, peer 1, MPI_Win_post of rank 1"),
        ("win.Post(win.group.Incl([1])); win.Wait()", "MPI_Win_wait at {}:9, peer 1, MPI_Win_complete of rank 1"),
        ("win.Fence()", "MPI_Win_fence at {}:9"),
    ],
)
def test_a_deadlock_report_names_the_call_that_is_missing(script, calls, expected):
    program = script(f"""
if comm.rank == 0:
    {calls}
else:
    comm.Recv(bytearray(1), 0, 5)
""")
    done = together(2, "python", program)
    assert done.returncode != 0
    assert "waits in " + expected.format(program) in done.stderr


def test_races_are_reported_with_both_calls(script):
    program = script("""
mine = np.zeros(4)
win.Fence()
win.Put(mine, 0, 2 * comm.rank)
win.Fence()
win.Free()
""")
    done = together(2, "python", program, options=["--report-races"])
    assert done.returncode == 0
    put = f"MPI_Put at {program}:10"
    assert done.stderr == (
        f"lanai: race: rank 0: {put} of rank 0 and {put} of rank 1 race for byte 16 of window table\n"
    )
    assert together(2, "python", program).stderr == ""


def test_a_window_that_is_not_freed_is_a_leak(script):
    program = script("")
    done = together(2, "python", program, options=["--report-leaks"])
    assert sorted(done.stderr.splitlines()) == [
        f"lanai: leak: rank {rank}: the window table, made at {program}:5, was not freed" for rank in range(2)
    ]


def test_a_target_that_only_computes_answers_when_it_enters_mpi(script):
    """Computing is free: in simulated time the origin does not wait at all."""
    program = script("""
import time
if comm.rank == 1:
    time.sleep(0.3)
else:
    win.Lock(1)
    win.Put(np.ones(1), 1)
    win.Unlock(1)
    print(MPI.Wtime() < 1e-3)
win.Free()
""")
    assert together(2, "python", program).stdout == "True\n"


PUTS = """
turns = 20
win.Lock_all(MPI.MODE_NOCHECK)
comm.Barrier()
start = MPI.Wtime()
if comm.rank == 0:
    for turn in range(turns):
        win.Put(np.full(1, turn, float), 1, 2)
        win.Flush(1)
    print(round((MPI.Wtime() - start) * 1e12 / turns))
    comm.Send(bytearray(1), 1)
else:
    comm.Recv(bytearray(1), 0)
    print(np.frombuffer(win, float)[2], MPI.Wtime() - start < 1e-3)
win.Unlock_all()
win.Free()
"""


@pytest.mark.parametrize("call", [0, 300_000])
def test_a_put_on_ideal_takes_its_call_two_latencies_and_its_bytes(script, call):
    """The flush waits meanwhile, and the target does nothing: it pays for no copy."""
    prices = ["--host-option", "copy=1000000000", "--host-option", f"call={call}"]
    done = together(2, "python", script(PUTS), options=prices)
    target, origin = sorted(done.stdout.splitlines(), key=len, reverse=True)
    assert target == "19.0 True"
    assert int(origin) == pytest.approx(call + 2_000_000 + 50_000, rel=5e-3)


@pytest.mark.parametrize(("blocks", "by_messages"), [(1, False), (64, False), (65, True)])
def test_puts_in_pieces_arrive_whole_and_many_pieces_go_by_message(script, blocks, by_messages):
    """A message costs the target its copy."""
    program = script(f"""
pieces = MPI.INT.Create_vector({blocks}, 2, 3).Commit()
big = MPI.Win.Allocate(4 * 3 * {blocks}, 4, comm=comm)
memory = np.frombuffer(big, "i")
memory[:] = -1
mine = np.arange(2 * {blocks}, dtype="i")
comm.Barrier()
start = MPI.Wtime()
if comm.rank == 0:
    big.Lock(1)
    big.Put([mine, 2 * {blocks}, MPI.INT], 1, (0, 1, pieces))
    big.Put(mine[:0], 1)
    big.Unlock(1)
    comm.Send(bytearray(1), 1)
    big.Lock(0)
    big.Put(mine[:2], 0)
    big.Unlock(0)
    print(memory[:3])
else:
    comm.Recv(bytearray(1), 0)
    late = MPI.Wtime() - start > 1e-3
    whole = memory.reshape(-1, 3)
    print(late, (whole[:, :2].ravel() == mine).all(), (whole[:, 2] == -1).all())
big.Free()
win.Free()
""")
    done = together(2, "python", program, options=["--host-option", "copy=1000000000"])
    assert sorted(done.stdout.splitlines()) == sorted([f"{by_messages} True True", "[ 0  1 -1]"])


def test_a_put_of_memory_that_is_not_there_fails_at_the_flush(script):
    program = script("""
win.Set_errhandler(MPI.ERRORS_RETURN)
if comm.rank == 0:
    win.Lock(1)
    win.Put([MPI.memory.fromaddress(4096, 8), 8, MPI.BYTE], 1)
    try:
        win.Flush(1)
    except MPI.Exception as error:
        print(error.Get_error_string())
    win.Put(np.ones(1), 1)
    win.Unlock(1)
comm.Barrier()
if comm.rank == 1:
    print(np.frombuffer(win)[0])
win.Free()
""")
    done = together(2, "python", program)
    assert "8 bytes at 0x1000" in done.stdout
    assert done.stdout.endswith("1.0\n")
    assert done.returncode == 0, done.stderr


def test_a_put_is_there_before_what_its_origin_sends_later(script):
    """Without any flush, though MPI asks for one: a write and a message share their way."""
    program = script("""
comm.Barrier()
if comm.rank == 0:
    win.Lock_all(MPI.MODE_NOCHECK)
    for turn in range(20):
        win.Put(np.full(1, turn, float), 1, turn % 10)
        comm.Send(bytearray(1), 1)
    win.Unlock_all()
else:
    memory = np.frombuffer(win)
    for turn in range(20):
        comm.Recv(bytearray(1), 0)
        assert memory[turn % 10] == turn
win.Free()
""")
    assert together(2, "python", program).returncode == 0


def test_ranks_that_put_to_the_same_places_leave_the_same_bytes_in_each_run(script):
    """At every look of the target, though each run has pauses of its own in real time."""
    program = script("""
import os, random, time, zlib
draw, pause = random.Random(comm.rank), random.Random(os.urandom(8))
memory = np.frombuffer(win)
seen = 0
win.Lock_all(MPI.MODE_NOCHECK)
for turn in range(150):
    to = draw.randrange(comm.size)
    if to != comm.rank:
        win.Put(np.full(draw.randrange(1, 5), comm.rank * 1000.0 + turn), to, draw.randrange(6))
    if draw.random() < 0.3:
        win.Flush_all()
    if draw.random() < 0.3:
        win.Sync()
    if pause.random() < 0.1:
        time.sleep(pause.random() * 1e-3)
    seen = zlib.crc32(memory, seen)
win.Unlock_all()
end = MPI.Wtime()
comm.Barrier()
print(comm.rank, zlib.crc32(memory, seen), round(end * 1e12))
win.Free()
""")
    runs = [together(4, "python", program) for _ in range(3)]
    assert [done.returncode for done in runs] == [0, 0, 0]
    assert len({tuple(sorted(done.stdout.splitlines())) for done in runs}) == 1
    assert len(set(runs[0].stdout.split())) == 12


def test_two_sided_messages_take_as_long_beside_an_idle_window(script):
    """The simulated time is equal to the picosecond."""
    text = """
comm.Barrier()
start = MPI.Wtime()
for turn in range(20):
    if comm.rank == turn % 2:
        comm.Send(bytearray(100), 1 - comm.rank)
    else:
        comm.Recv(bytearray(100), 1 - comm.rank)
if comm.rank == 0:
    print(round((MPI.Wtime() - start) * 1e12))
"""
    without = together(
        2, "python", script("win.Free()" + text.replace("comm.Barrier()", "comm.Barrier(); comm.Barrier()"))
    )
    beside = together(2, "python", script("comm.Barrier()" + text + "win.Free()"))
    assert without.stdout == beside.stdout != ""
