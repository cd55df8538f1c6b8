"""A simulation cut into parts gives what one process gives."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from lanai_host.stacks import names, stack

MPIEXEC = Path(sysconfig.get_path("scripts"), "mpiexec")
LANAI = (sys.executable, "-m", "lanai_sim", "run", "-v")
RING = str(Path(__file__).with_name("ring.py"))
SECONDS = 500  # that a run of a test may take on a busy machine
DEADLOCK = "from mpi4py import MPI; c = MPI.COMM_WORLD; c.Barrier(); c.recv(source=(c.rank + 1) % c.size)"
FAILS = "import sys; from mpi4py import MPI; c = MPI.COMM_WORLD; c.Barrier(); sys.exit(7 * (c.rank == 2))"

pytestmark = pytest.mark.skipif(not MPIEXEC.exists(), reason="needs the mpiexec of the mpich wheel")


def start(command):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PMI")}
    return subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, env=environment, timeout=SECONDS
    )


def in_parts(parts, *arguments, mpi=()):
    return start([MPIEXEC, *mpi, "-n", parts, *LANAI, "--parts", *arguments])


def told(done):
    """Return what was printed, without what depends on real time and on the parts."""
    left_out = ("lanai: buil", "lanai: boot", "lanai: wait", "buffers lay as", " exchanges, ", "lanai: hint")
    lines = [line for line in done.stderr.splitlines() if not any(text in line for text in left_out)]
    return sorted(done.stdout.splitlines()), lines, done.returncode


def figures(file):
    found = json.loads(file.read_text())["figures"]
    del found["run.nic_cycles_evaluated"]  # a choice of the engine
    return found


def check_all(tmp_path, counts, *arguments):
    """The run in one process, and in these counts of parts, end alike, with the same figures."""
    file = tmp_path / "figures.json"
    arguments = ("--json", file, *arguments)
    whole = start([*LANAI, *arguments])
    expected = told(whole), figures(file)
    assert expected[1]["run.digest"] > 0
    for parts in counts:
        file.unlink()
        done = in_parts(parts, *arguments)
        assert told(done) == expected[0], f"{parts} parts\n{done.stderr}"
        assert figures(file) == expected[1], f"{parts} parts"
        assert " exchanges, " in done.stderr
    return whole


@pytest.mark.ci
@pytest.mark.parametrize("device", [name for name in names() if stack(name).nics])
def test_results_do_not_depend_on_the_number_of_parts(device, tmp_path):
    done = check_all(tmp_path, (1, 2, 3, 4), "-n", 4, "--device", device, "python", RING)
    assert done.returncode == 0


@pytest.mark.ci
def test_parts_may_be_on_several_machines(tmp_path):
    """MPI tells each part that it is alone on its machine."""
    file = tmp_path / "figures.json"
    arguments = ("--json", file, "-n", 3, "--device", "t3d", "python", RING)
    whole = start([*LANAI, *arguments])
    expected = figures(file)
    file.unlink()
    done = in_parts(3, *arguments, mpi=("-genv", "MPIR_CVAR_NOLOCAL", "1"))
    assert done.returncode == 0, done.stderr
    assert figures(file) == expected
    assert whole.stdout.splitlines()[0] in done.stdout  # beside warnings of MPI itself


@pytest.mark.ci
def test_faults_hit_the_same_packets(tmp_path):
    faults = ("--fault", "drop nic0 packet=1", "--fault", "corrupt * rate=0.02 seed=3", "--firmware", "recovery=1")
    machine = ("-n", 4, "--device", "mpi-np", "--fabric", "torus:2x2", *faults)
    assert "fault: drop of 1 from nic0" in check_all(tmp_path, (2, 3), *machine, "python", RING).stderr


@pytest.mark.ci
def test_the_barrier_tree_is_cut(tmp_path):
    machine = ("-n", 4, "--device", "mpi-np", "--fabric", "switches:2", "--block", "barrier")
    check_all(tmp_path, (2,), *machine, "python", RING)


@pytest.mark.ci
def test_a_deadlock_is_found_by_all_parts(tmp_path):
    done = check_all(tmp_path, (2, 3), "-n", 3, "--device", "t3d", "python", "-c", DEADLOCK)
    assert done.returncode == 3
    assert "circle of waits" in done.stderr


@pytest.mark.ci
def test_all_parts_reach_the_limit_of_time(tmp_path):
    limit = ("--max-sim-time", "450us")
    done = check_all(tmp_path, (2,), "-n", 3, "--device", "t3d", *limit, "python", RING)
    assert done.returncode == 124


@pytest.mark.ci
def test_a_rank_that_fails_ends_all_parts():
    done = in_parts(3, "-n", 3, "--device", "t3d", "python", "-c", FAILS)
    assert done.returncode == 7
    assert done.stderr.count("exited with code 7") == 1


@pytest.mark.ci
@pytest.mark.parametrize(
    ("parts", "arguments", "error"),
    [
        (3, ["-n", 2, "--device", "t3d"], "3 parts are more than the machine's 2 NICs; start at most 2 processes"),
        (2, ["-n", 2, "--device", "ideal"], "the device 'ideal' has none; choose another"),
        (2, ["-n", 2, "--device", "t3d", "--trace", "x", "--universe", 3], "combined with --universe, --trace; run"),
        (2, ["-n", 2, "--device", "t3d", "--fabric", "rope"], "fabric 'rope' is not known"),
    ],
)
def test_what_cannot_be_cut_is_refused_in_one_line(parts, arguments, error):
    done = in_parts(parts, *arguments, "python", RING)
    assert done.returncode == 2
    assert error in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.ci
def test_parts_of_different_jobs_are_refused():
    job = [*LANAI, "--parts", "--device", "t3d", "-n"]
    done = start([MPIEXEC, "-n", 1, *job, 2, "python", RING, ":", "-n", 1, *job, 3, "python", RING])
    assert done.returncode == 2
    assert "part 1 has other values of ranks than part 0; start all parts alike" in done.stderr


@pytest.mark.ci
def test_a_part_that_cannot_start_its_ranks_ends_all(tmp_path):
    program = {"command": ["python", RING], "ranks": 1}
    programs = [program, {**program, "directory": str(tmp_path / "nowhere")}]
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"device": "t3d", "ranks": 2, "programs": programs}))
    done = in_parts(2, "--config", file, "python", RING)
    assert done.returncode == 2
    assert "lanai: error: part 1: cannot start" in done.stderr
