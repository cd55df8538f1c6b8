"""Processes that ranks start, and what is said where they cannot be."""

import sys

import pytest
from pairs import first_of

from .jobs import C, alone, mpicc, together

ABI = pytest.param(["-mpi-abi"], marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=[[], ABI], ids=["mpich", "abi"])
def program(request, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("spawn") / "spawn")
    mpicc(*request.param, "-O1", "-Wall", "-Werror", str(C / "spawn.c"), "-o", path)
    return path


def test_a_program_that_starts_others(program):
    done = together(2, program, options=["--universe", "7"])
    assert (done.stdout, done.returncode) == ("all right\n", 0), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("device", ["mpi-np", "t3d", "mbcf", "sci"])
def test_it_does_so_on_nics(program, device):
    done = together(2, program, device=device, options=["--universe", "7"], timeout=600)
    assert (done.stdout, done.returncode) == ("all right\n", 0), done.stderr


FAMILY = """if True:
    import sys
    from mpi4py import MPI
    parent = MPI.Comm.Get_parent()
    if parent == MPI.COMM_NULL:
        for _ in range(2):
            MPI.COMM_SELF.Spawn(sys.executable, [__file__, *sys.argv[1:]], maxprocs=1)
        MPI.COMM_WORLD.Barrier()
        print(f"{1e12 * MPI.Wtime():.0f}")
    elif sys.argv[1] == "fails":
        sys.exit(7)
    elif sys.argv[1] == "waits":
        parent.recv(source=0)
    else:
        print("child of", parent.remote_group.Translate_ranks([0], MPI.COMM_WORLD.group)[0] < 0, flush=True)
    """


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    path = tmp_path_factory.mktemp("family") / "family.py"
    path.write_text(FAMILY)
    return str(path)


def run(family, how, universe=6):
    return together(2, sys.executable, family, how, options=["--universe", str(universe)])


@pytest.mark.ci
def test_two_ranks_start_processes_in_the_order_of_their_times(family):
    """The children's ranks, and the times, do not depend on which process was faster."""
    runs = [run(family, "ends") for _ in range(2)]
    assert [done.returncode for done in runs] == [0, 0], runs[0].stderr
    first, second = (sorted(done.stdout.split("\n")) for done in runs)
    assert first == second
    assert first.count("child of True") == 4


def test_a_started_process_that_fails_ends_the_job_and_is_named(family):
    done = run(family, "fails")
    assert done.returncode == 7
    assert "(family.py, started by rank " in done.stderr
    assert "exited with code 7" in done.stderr


def test_a_deadlock_names_started_processes(family):
    done = run(family, "waits")
    assert done.returncode == 3
    assert "rank 2 (family.py, started by rank 0) at " in done.stderr
    assert "waits in MPI_Mprobe" in done.stderr


def test_too_few_spares_are_named(family):
    done = run(family, "ends", universe=3)
    assert done.returncode != 0
    assert "1 process is to be started, but --universe is 3 and 0 of its spare ranks are left" in done.stderr


def test_without_spares_the_text_says_how_to_get_them(family):
    done = together(1, sys.executable, family, "ends")
    assert "the run has no spare ranks; start it with: lanai run -n 1 --universe 2" in done.stderr
    assert "only `lanai run` starts processes" in alone(sys.executable, family, "ends").stderr


def test_a_universe_counts_the_ranks_that_begin():
    done = together(3, "true", options=["--universe", "2"])
    assert done.returncode == 2
    assert "universe = 2 is less than the 3 ranks that begin" in done.stderr


# Processes that follow others on the same spare rank.

# Buffers have pages of their own: what a message costs depends on where its buffer lies.
FOLLOWERS = """if True:
    import mmap, sys
    from mpi4py import MPI
    parent, count = MPI.Comm.Get_parent(), int(sys.argv[1])
    data = memoryview(mmap.mmap(-1, 8192))[:5000]
    if parent == MPI.COMM_NULL:
        for number in range(count):
            child = MPI.COMM_SELF.Spawn(sys.executable, [__file__, *sys.argv[1:]], maxprocs=1)
            data[:] = bytes([number]) * len(data)
            child.Send([data, MPI.BYTE], dest=0)
            if sys.argv[2] == "leaves":
                child.send("nobody receives this", dest=0, tag=1)
            data[:] = bytes(len(data))
            child.Recv([data, MPI.BYTE], source=0)
            print((data[0], bytes(data).count(number)), flush=True)
            child.Disconnect()
        print(f"{1e12 * MPI.Wtime():.0f}")
    else:
        parent.Recv([data, MPI.BYTE], source=0, tag=0)
        parent.Send([data, MPI.BYTE], dest=0)
        parent.Disconnect()
    """


@pytest.fixture(scope="module")
def followers(tmp_path_factory):
    path = tmp_path_factory.mktemp("followers") / "followers.py"
    path.write_text(FOLLOWERS)
    return str(path)


def run_spawn_again(followers, count, how, device, *options):
    program = [sys.executable, followers, str(count), how]
    return together(1, *program, device=device, options=["--universe", "3", *options], timeout=300)


@pytest.mark.parametrize(("device", "options"), first_of(("ideal", ()), ("mpi-np", ("--buffers", "page"))))
def test_a_spare_serves_one_process_after_another(followers, device, options):
    first, second = (run_spawn_again(followers, 6, "cleanly", device, *options) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[:-1] == [f"({number}, 5000)" for number in range(6)]
    assert first.stdout == second.stdout  # the time too


@pytest.mark.parametrize("device", first_of("ideal", "mpi-np"))
def test_a_process_that_is_about_to_leave_is_waited_for(followers, device):
    program = [sys.executable, followers, "4", "cleanly"]
    done = together(1, *program, device=device, options=["--universe", "2"], timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:-1] == [f"({number}, 5000)" for number in range(4)]


def test_a_process_that_stays_is_not_waited_for_without_end():
    text = """
import sys
from mpi4py import MPI
parent = MPI.Comm.Get_parent()
if parent != MPI.COMM_NULL:
    parent.recv(source=0)
    parent.Disconnect()
    sys.exit()
child = MPI.COMM_SELF.Spawn(sys.executable, ["-c", sys.orig_argv[2]])
try:
    MPI.COMM_SELF.Spawn(sys.executable, ["-c", sys.orig_argv[2]])
except MPI.Exception as error:
    print(error, MPI.Wtime())
child.send(1, dest=0)
child.Disconnect()
"""
    done = together(1, "python", "-c", text, options=["--universe", "2"])
    assert done.returncode == 0, done.stderr
    said, _, time = done.stdout.strip().rpartition(" ")
    assert said.endswith("0 of its spare ranks are left, and no process has left in 10 ms")
    assert 0.010 < float(time) < 0.013


def test_a_nic_that_keeps_a_message_of_a_process_that_has_left_serves_no_other(followers):
    """On `ideal` such messages go with the process."""
    done = run_spawn_again(followers, 3, "leaves", "mpi-np")
    assert done.returncode != 0
    assert done.stdout.splitlines() == ["(0, 5000)", "(1, 5000)"]
    assert "1 process is to be started, but --universe is 3 and 0 of its spare ranks are left" in done.stderr
    assert run_spawn_again(followers, 3, "leaves", "ideal").returncode == 0


def test_where_no_process_can_follow_each_takes_a_spare(followers):
    done = run_spawn_again(followers, 3, "cleanly", "t3d")
    assert "0 of its spare ranks are left; with --device t3d each serves one process" in done.stderr
    assert run_spawn_again(followers, 2, "cleanly", "t3d").returncode == 0


def test_in_a_trace_each_process_has_its_own_rank(followers, tmp_path):
    done = run_spawn_again(followers, 3, "cleanly", "mpi-np", "--trace", str(tmp_path / "run.trace"))
    assert "0 of its spare ranks are left; with --trace each serves one process" in done.stderr
