"""`--on`: the executors that can be chosen, and what is said where there is none."""

import errno
import os
import re
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import synchronize
from pathlib import Path

import pytest

from lanai_host.errors import UserError
from lanai_sim.executors import kinds
from lanai_sim.executors.journal import Journal, each_kept
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
        ({"on": "slurm"}, "--on 'slurm' is not understood"),
        ({"on": "lokal"}, "--on 'lokal' is not understood; write local, mpi, or MODULE:CALLABLE"),
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


def test_mpi_without_ranks_says_how_to_start_them(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["lanai", "sweep", "queues", "--on", "mpi"])
    with pytest.raises(UserError, match=r"mpiexec -n 5 python -m mpi4py.futures -m lanai_sim sweep queues --on mpi"):
        kinds.executor(Place(on="mpi"), 2)


def test_ranks_that_are_no_workers_end_also_with_one_journal(here):
    """Only one of them has the journal. It does not wait in MPI_Init for the other, which has ended."""
    words = ["-m", "lanai_sim", "sweep", "queues", "--quick", "--on", "mpi", "--journal", "j.jsonl"]
    command = [str(MPIEXEC), "-n", "2", sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 2
    assert "start it as: mpiexec -n 5 python -m mpi4py.futures -m lanai_sim sweep" in done.stderr


def test_workers_are_the_ranks_of_mpich(here):
    (here / "program.py").write_text(PROGRAM)
    command = [str(MPIEXEC), "-n", "3", sys.executable, "-m", "mpi4py.futures", "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[0, 1, 4, 9, 16, 25] False"


def test_without_shared_memory_a_line_says_so(monkeypatch):
    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")  # as where /dev/shm is not writable

    monkeypatch.setattr(synchronize, "_multiprocessing", types.SimpleNamespace(SemLock=refuse))
    with pytest.raises(UserError, match=r"no processes can share work here \(.*Read-only.*/dev/shm; .* --jobs 1$"):
        list(each(abs, [1, 2], Place(jobs=2)))


def test_workers_import_nothing_from_the_current_folder_and_give_ranks_the_commands_environment(here, capfd):
    for name in ("multiprocessing", "pickle", "random", "socket"):
        (here / f"{name}.py").write_text(f"raise ImportError('{name}.py of the folder')")
    seen = dict(each(os.getenv, ["PYTHONSAFEPATH", "NO_SUCH_VARIABLE"], Place(jobs=2)))
    assert seen == {"PYTHONSAFEPATH": None, "NO_SUCH_VARIABLE": None}
    assert "PYTHONSAFEPATH" not in os.environ
    assert capfd.readouterr().err == ""


# The page on many runs has functions that give executors of Dask, and of a cluster by it.


@pytest.mark.parametrize("name", ["dask", "slurm"])
def test_the_pages_functions_give_executors(name, here, monkeypatch):
    page = Path(__file__).parents[3] / "docs" / "many-runs.md"
    (code,) = re.findall(r"```python\n(# cluster.py.*?)```", page.read_text(), re.DOTALL)
    (here / "cluster.py").write_text(code)
    client = types.SimpleNamespace(get_executor=lambda: ThreadPoolExecutor(2))
    workers = []
    cluster = types.SimpleNamespace(scale=lambda jobs: workers.append(jobs), get_client=lambda: client)
    monkeypatch.setitem(sys.modules, "distributed", types.SimpleNamespace(Client=lambda address: client))
    monkeypatch.setitem(sys.modules, "dask_jobqueue", types.SimpleNamespace(SLURMCluster=lambda **how: cluster))
    assert dict(each(abs, [-1, -2], Place(on=f"cluster:{name}"))) == {-1: 1, -2: 2}
    assert bool(workers) == (name == "slurm")


# A journal is one command's while points are measured for it.


POINTS = [{"number": number} for number in range(3)]
measure = dict  # a function that workers find


def test_a_second_command_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    first, second = (Journal(tmp_path / "j", "study") for _ in range(2))
    here = Place()

    def meanwhile(point):
        with pytest.raises(UserError, match="another command measures for the journal"):
            each_kept(second, POINTS, measure, here)

    each_kept(first, POINTS, measure, here, meanwhile)
    told: list[dict] = []
    rows = each_kept(second, POINTS, measure, here, told.append)
    assert [row.figures["number"] for row in rows] == [0, 1, 2]
    assert told == [], "the first one has measured them"
    assert len((tmp_path / "j").read_text().splitlines()) == 3


def test_a_journal_with_all_points_is_only_read(tmp_path: Path) -> None:
    each_kept(Journal(tmp_path / "j", "study"), POINTS, measure, Place())
    os.chmod(tmp_path / "j", 0o444)
    assert len(each_kept(Journal(tmp_path / "j", "study"), POINTS, measure, Place())) == 3


def test_a_journal_that_cannot_be_written_is_told_before_points_are_measured(tmp_path: Path) -> None:
    measured: list[dict] = []
    with pytest.raises(UserError, match="cannot write the journal"):
        each_kept(Journal(tmp_path / "none" / "j", "study"), POINTS, measure, Place(), measured.append)
    assert not measured


def test_a_row_is_on_the_disk_before_the_next_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, kept = Journal(tmp_path / "j", "study"), []
    monkeypatch.setattr(os, "fsync", lambda file: kept.append(os.fstat(file).st_size))
    for point in POINTS:
        journal.add(point, point)
        assert kept[-1] == (tmp_path / "j").stat().st_size
    assert len(set(kept)) == len(POINTS)


def test_a_row_is_added_without_reading_the_others(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "study")
    journal.add(POINTS[0], {"text": "x" * 1_000_000})
    before = bytes_read()
    journal.add(POINTS[1], {})
    assert bytes_read() - before < 100_000
    with open(tmp_path / "j", "a") as file:
        file.write('{"cut short')
    journal.add(POINTS[2], {})
    assert [journal.find(point) for point in POINTS] == [Journal(tmp_path / "j", "study").find(p) for p in POINTS]


def bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])
