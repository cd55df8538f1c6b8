"""Ranks with several threads: time moves only when all of a rank's threads have stopped, and the
run is the same on any machine."""

import subprocess
import sys

import pytest

from lanai_sim.job.result import Ending, Exit
from openlanai import Job

TWO_THREADS = """
import threading
from mpi4py import MPI
world = MPI.COMM_WORLD
peer = 1 - world.rank
def talk(number):
    mine, other = bytearray(8), bytearray(8)
    for turn in range(15):
        mine[:] = bytes([number, turn] * 4)
        sum(range(1000 * (number + 1)))  # they do not come to the library at the same time
        world.Sendrecv(mine, peer, number, other, peer, number)
        assert other == mine
        if turn % 3 == number:
            world.Iprobe(peer, 99)
threads = [threading.Thread(target=talk, args=(number,)) for number in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""

COMPUTE = """
import threading, time
from mpi4py import MPI
world = MPI.COMM_WORLD
lock, seen = threading.Lock(), []
def compute():
    begun = MPI.Wtime()
    sum(range(6_000_000))
    seen.append(MPI.Wtime() - begun)
if world.rank == 0:
    thread = threading.Thread(target=compute)
    thread.start()
    world.Recv(bytearray(1), source=1)
    thread.join()
    assert seen[0] < 5e-6, seen  # rank 1's datagram could have come meanwhile, but time stood still
else:
    world.Send(b"x", dest=0)
"""

AGREEMENTS = """
import threading
from mpi4py import MPI
world = MPI.COMM_WORLD
roots = [world.Dup() for _ in range(3)]
made = {}
def twin(index):
    if index == 1:
        comm, request = roots[index].Idup()
        request.Wait()
    else:
        comm = roots[index].Dup()
    made[f"root {index}"] = comm
def part(tag):
    made[f"part {tag}"] = world.Create_group(world.group, tag)
work = [(twin, 0), (part, 0), (twin, 1), (part, 1), (twin, 2)]
threads = [threading.Thread(target=f, args=(a,)) for f, a in (work if world.rank == 0 else reversed(work))]
for t in threads: t.start()
for t in threads: t.join()
total = sum(comm.allreduce(1) for _, comm in sorted(made.items()))
assert total == 5 * world.size, total
"""

BLOCKED = """
import threading
from mpi4py import MPI
world = MPI.COMM_WORLD
lock = threading.Lock()
def hold():
    with lock:
        started.set()
        world.recv(source=1 - world.rank, tag=5)
started = threading.Event()
threading.Thread(target=hold, daemon=True).start()
started.wait()
if world.rank:
    world.recv(source=0, tag=6)
else:
    lock.acquire()  # blocked on a thread that waits in the library
"""

SLEEPER = """
import threading, time
from mpi4py import MPI
world = MPI.COMM_WORLD
got = []
def listen():
    got.append(world.recv(source=1 - world.rank))
thread = threading.Thread(target=listen)
thread.start()
world.send(world.rank, dest=1 - world.rank)
while not got:
    time.sleep(0.002)
thread.join()
"""


def ranks(body, size=2, **options):
    return Job((sys.executable, "-c", body), size, max_wall=120).but(**options).run()


def test_two_threads_a_rank_are_the_same_beside_a_load(capfd):
    quiet = ranks(TWO_THREADS)
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        loaded = ranks(TWO_THREADS)
    finally:
        for process in load:
            process.kill()
            process.wait()
    assert (quiet.code, quiet.report) == (0, "")
    assert "not deterministic" not in capfd.readouterr().err
    assert loaded.clocks == quiet.clocks


def test_time_stands_still_while_a_thread_computes(capfd):
    assert ranks(COMPUTE).code == 0
    assert "not deterministic" not in capfd.readouterr().err


def test_threads_make_communicators_in_any_order():
    """Each rank's threads duplicate different communicators and create one of a group, in another
    order on rank 0."""
    assert ranks(AGREEMENTS, size=3).code == 0


def test_a_deadlock_names_what_the_threads_wait_for():
    result = ranks(BLOCKED)
    assert result.code == Exit.DEADLOCK
    assert "rank 0" in result.report
    assert "peer 1, tag 5" in result.report
    assert "other threads" in result.report  # of rank 1
    assert "tag 6" in result.report


@pytest.mark.parametrize("device", ["ideal"])
def test_a_thread_that_sleeps_in_real_time_is_waited_for_no_more(device, capfd):
    assert ranks(SLEEPER, device=device).code == 0
    assert "sleeps in real time" in capfd.readouterr().err


SPIN = """
import os, threading
from mpi4py import MPI
world = MPI.COMM_WORLD
got = []
def listen():
    for _ in range(2): got.append(world.recv(source=1))
if world.rank == 0:
    thread = threading.Thread(target=listen)
    thread.start()
    while len(got) < 2: LOOP
    thread.join()
else:
    for _ in range(20): world.sendrecv(0, 1, source=1)
    for _ in range(2): world.send(0, dest=0)
"""


@pytest.mark.parametrize("loop", [pytest.param("pass", marks=pytest.mark.ci), "os.sched_yield()"])
def test_a_thread_that_spins_until_another_has_received_counts_as_waiting(loop, capfd):
    quiet = ranks(SPIN.replace("LOOP", loop))
    assert (quiet.code, quiet.report) == (0, "")
    assert "note" not in capfd.readouterr().err
    assert ranks(SPIN.replace("LOOP", loop)).clocks == quiet.clocks


UNASKED = """\
#include <mpi.h>
#include <pthread.h>
static int rank;
static void *work(void *at) {
    int tag = *(int *)at, other;
    MPI_Sendrecv(&tag, 1, MPI_INT, 1 - rank, tag, &other, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
int main(int argc, char **argv) {
    pthread_t threads[2];
    int tags[] = {0, 1};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, &tags[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return MPI_Finalize();
}
"""


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_threads_that_mpi_init_does_not_allow(device, tmp_path, capfd):
    """Each of them aborts the run, which ends once."""
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(UNASKED)
    lanai = [sys.executable, "-m", "lanai_sim"]
    subprocess.run([*lanai, "mpicc", "-o", str(program), str(source), "-pthread"], check=True)
    for _ in range(3):
        result = Job((str(program),), 2, device, max_wall=300).run()
        assert (result.code, result.ending) == (15, Ending.ABORTED)
        assert result.report in ("rank 0 aborted with code 15", "rank 1 aborted with code 15")
        assert "ask MPI_Init_thread for MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE" in capfd.readouterr().err
