"""`--on`: the executors that can be chosen, and what is said where there is none."""

import errno
import subprocess
import sys
import types
from concurrent.futures import BrokenExecutor
from multiprocessing import synchronize
from pathlib import Path

import pytest

from lanai_host.errors import UserError
from lanai_sim.cli import main
from lanai_sim.executors import kinds
from lanai_sim.executors.kinds import SlurmExecutor
from lanai_sim.executors.place import Place
from lanai_sim.executors.workers import each

MPIEXEC = Path(sys.executable).parent / "mpiexec"  # of the `mpich` wheel
OWN = """
import concurrent.futures
class Pools:
    threads = staticmethod(lambda: concurrent.futures.ThreadPoolExecutor(2))
def nothing(): pass
"""
THEIRS = """
from concurrent.futures import Executor, Future
class KilledWorker(Exception): pass
class Pool(Executor):
    def submit(self, function, item):
        future = Future()
        if item < 0:
            future.set_exception(KilledWorker(item))
        else:
            future.set_result(function(item))
        return future
    def shutdown(self, wait=True): pass
"""
PROGRAM = """
import os
from lanai_sim.executors.place import Place
from lanai_sim.executors.workers import each

def work(item):
    if item < 0:
        os._exit(1)
    return item * item, os.getpid()

if __name__ == "__main__":
    found = dict(each(work, list(range(6)), Place(on="mpi")))
    print(sorted(square for square, _ in found.values()), os.getpid() in [pid for _, pid in found.values()])
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"on": "lokal"}, "--on 'lokal' is not understood; write local, mpi, slurm, or MODULE:CALLABLE"),
        ({"on": "module:"}, "--on 'module:' is not understood"),
        ({"jobs": -1}, r"--jobs must be at least 1 \(0: one a core\), got -1"),
        ({"limit": 0.0}, "--limit must be a positive number of seconds, got 0"),
    ],
)
def test_a_place_that_cannot_be_is_refused(how, text):
    with pytest.raises(UserError, match=text):
        Place(**how)


def test_an_executor_of_the_users(here):
    (here / "own_pools.py").write_text(OWN)
    assert dict(each(abs, [-1, -2], Place(on="own_pools:Pools.threads"))) == {-1: 1, -2: 2}
    with pytest.raises(UserError, match="--limit needs workers that run tasks in their main thread"):
        dict(each(abs, [-1, -2], Place(on="own_pools:Pools.threads", limit=5.0)))


def test_an_executor_with_exceptions_of_its_own(here):
    """Dask's is one. Its `shutdown` also takes fewer arguments than Python's own."""
    (here / "their_pools.py").write_text(THEIRS)
    assert dict(each(abs, [1, 2], Place(on="their_pools:Pool"))) == {1: 1, 2: 2}
    with pytest.raises(UserError, match=r"a worker has died .* [01] of 2 runs had ended"):
        list(each(abs, [1, -2], Place(on="their_pools:Pool")))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("no_such_module:make", "gives no executor: ModuleNotFoundError: No module named 'no_such_module'"),
        ("json:make", "gives no executor: AttributeError: module 'json' has no attribute 'make'"),
        ("json:dumps", "gives no executor: TypeError"),
        ("collections:Counter", "gives an object of type Counter; it must give a concurrent.futures.Executor"),
    ],
)
def test_what_gives_no_executor_is_named(name, text, here, capsys):
    assert main(["sweep", "queues", "--quick", "--on", name]) == 2
    assert text in capsys.readouterr().err


def test_mpi_without_ranks_says_how_to_start_them(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["lanai", "sweep", "queues", "--on", "mpi"])
    with pytest.raises(UserError, match=r"mpiexec -n 5 python -m mpi4py.futures -m lanai_sim sweep queues --on mpi"):
        kinds.executor(Place(on="mpi"), 2)


def test_ranks_that_are_no_workers_end_also_with_one_journal(here):
    """Only one of them has the journal. It does not wait in MPI_Init for the other, which has ended."""
    words = ["-m", "lanai_sim", "sweep", "queues", "--quick", "--on", "mpi", "--journal", "j.jsonl"]
    command = [str(MPIEXEC), "-n", "2", sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "start it as: mpiexec -n 5 python -m mpi4py.futures -m lanai_sim sweep" in done.stderr


def test_workers_are_the_ranks_of_mpich(here):
    (here / "program.py").write_text(PROGRAM)
    command = [str(MPIEXEC), "-n", "3", sys.executable, "-m", "mpi4py.futures", "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[0, 1, 4, 9, 16, 25] False"


def test_without_shared_memory_a_line_says_so(monkeypatch):
    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")  # as where /dev/shm is not writable

    monkeypatch.setattr(synchronize, "_multiprocessing", types.SimpleNamespace(SemLock=refuse))
    with pytest.raises(UserError, match=r"no processes can share work here \(.*Read-only.*/dev/shm; .* --jobs 1$"):
        list(each(abs, [1, 2], Place(jobs=2)))


# `--on slurm`: jobs of a cluster as futures, and what is said where there is no cluster.


class Cluster:
    """Stands for submitit's executor: a job that runs when it is first looked at."""

    def __init__(self, refuses=False):
        self.refuses = refuses
        self.parameters = {}
        self.cancelled = []

    def update_parameters(self, **parameters):
        self.parameters |= parameters

    def submit(self, function, *args):
        if self.refuses:
            raise RuntimeError("sbatch: error:\nInvalid account\n")
        looks = iter([False, False])
        return types.SimpleNamespace(
            job_id="7", done=lambda: next(looks, True), result=lambda: function(*args),
            cancel=lambda check: self.cancelled.append("7"),
        )  # fmt: skip


def lost(item):
    raise RuntimeError(f"Job 7 has not produced any output (state: NODE_FAIL)\n-----\nthe node of {item} is down")


def test_jobs_are_futures():
    with SlurmExecutor(Cluster(), look=0.001) as pool:
        assert list(pool.map(abs, [-1, -2, -3])) == [1, 2, 3]


def test_a_job_that_was_lost_is_a_broken_executor():

    with (
        SlurmExecutor(Cluster(), look=0.001) as pool,
        pytest.raises(BrokenExecutor, match="job 7: the node of 3 is down"),
    ):
        pool.submit(lost, 3).result(10)


def test_a_job_that_slurm_does_not_tell_of_is_a_broken_executor():
    def done():
        raise OSError("sacct: slurm_persist_conn_open: Connection refused")

    asked = types.SimpleNamespace(job_id="8", done=done)
    jobs = iter([asked, types.SimpleNamespace(job_id="9", done=lambda: True, result=lambda: 3)])
    with SlurmExecutor(types.SimpleNamespace(submit=lambda *_: next(jobs)), look=0.001) as pool:
        with pytest.raises(BrokenExecutor, match=r"job 8: sacct: .*Connection refused"):
            pool.submit(abs, 1).result(10)
        assert pool.submit(abs, 2).result(10) == 3  # of the next one, it tells


def test_a_job_that_is_refused_is_told():
    pool = SlurmExecutor(Cluster(refuses=True), look=0.001)
    with pytest.raises(UserError, match="Slurm does not take a job: Invalid account"):
        pool.submit(abs, 1)
    pool.shutdown()


def test_open_jobs_are_cancelled():
    cluster = Cluster()
    pool = SlurmExecutor(cluster, look=60)
    pool.submit(abs, 1)
    pool.shutdown(wait=False, cancel_futures=True)
    assert cluster.cancelled == ["7"]


def test_without_submitit_a_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(UserError, match=r"--on slurm needs submitit .*; pip install 'openlanai\[slurm\]'"):
        kinds.executor(Place(on="slurm"), 2)


def test_without_slurm_a_line_says_so(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "submitit", types.ModuleType("submitit"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="--on slurm: no Slurm is here: sbatch is not in PATH"):
        kinds.executor(Place(on="slurm"), 2)


def test_what_submitit_misses_is_told(monkeypatch, tmp_path):
    def none(folder, cluster):
        raise RuntimeError('Could not detect "srun", are you indeed on a slurm cluster?')

    monkeypatch.setitem(sys.modules, "submitit", types.SimpleNamespace(AutoExecutor=none))
    (tmp_path / "sbatch").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match='submitit finds no Slurm here: Could not detect "srun"'):
        kinds.executor(Place(on="slurm"), 2)


def test_a_job_of_the_cluster_lasts_longer_than_its_run(monkeypatch, tmp_path):
    cluster = Cluster()
    monkeypatch.setitem(sys.modules, "submitit", types.SimpleNamespace(AutoExecutor=lambda folder, cluster: made[0]))
    made = [cluster]
    (tmp_path / "sbatch").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    kinds.executor(Place(on="slurm", limit=600.0), 2).shutdown()
    assert cluster.parameters["timeout_min"] == 15
