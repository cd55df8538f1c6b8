"""Runs in workers: the same results as in this process, and one line for what goes wrong."""

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from lanai_host.errors import UserError
from lanai_sim.corebench.lockstep import Divergence
from lanai_sim.executors.journal import Journal, each_kept
from lanai_sim.executors.kinds import LocalPool
from lanai_sim.executors.place import Place
from lanai_sim.executors.workers import Task, Way, each

TWO = Place(jobs=2)


WORK = """
import os, signal, time
from lanai_host.errors import UserError
from lanai_sim.corebench.lockstep import Divergence

def double(point):
    return {"y": 2 * point["x"]}

def diverge(item):
    raise Divergence(item)

def refuse(item):
    raise UserError(f"no {item}")

def die_at_two(point):
    if point["x"] == 2:
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    return double(point)

def sleep_at_two(point):
    if point["x"] == 2:
        time.sleep(60)
    return double(point)
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Return a module that workers find too."""
    folder = tmp_path_factory.mktemp("path")
    (folder / "work_of_workers.py").write_text(WORK)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("work_of_workers")


def points(count):
    return [{"x": x} for x in range(count)]


def test_workers_give_what_one_process_gives():
    items = list(range(-3, 2))
    assert sorted(each(abs, items, TWO)) == sorted(each(abs, items, Place(jobs=1)))


def test_rows_are_in_the_order_of_points_and_kept(work, tmp_path):
    path, told = tmp_path / "j", []
    Journal(path, "toy").add({"x": 1}, {"y": 5})
    rows = each_kept(Journal(path, "toy"), points(4), work.double, Place(jobs=1), lambda point: told.append(point["x"]))
    assert [row.figures["y"] for row in rows] == [0, 5, 4, 6]
    assert told == [0, 2, 3]
    assert [row.figures["y"] for row in each_kept(Journal(path, "toy"), points(4), work.refuse, TWO)] == [0, 5, 4, 6]


def test_an_error_of_this_project_in_a_run_is_no_lost_worker(work):
    with pytest.raises(Divergence):
        list(each(work.diverge, [1, 2], TWO))


def test_what_is_refused_in_a_worker_is_refused_here(work):
    with pytest.raises(UserError, match=r"^no [12]$"):
        list(each(work.refuse, [1, 2], TWO))


def test_a_worker_that_dies_loses_nothing_that_has_ended(work, tmp_path):
    path = tmp_path / "j"
    place = Place(jobs=2, journal=str(path))
    with pytest.raises(UserError, match=r"a worker has died \(killed, .*; 2 of 3 runs had ended; .*j keeps these, and"):
        each_kept(Journal(path, "toy"), points(3), work.die_at_two, place)
    assert Journal(path, "toy").missing(points(3)) == [{"x": 2}]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_takes_too_long_is_told_when_the_others_have_ended(jobs, work, tmp_path):
    path = tmp_path / "j"
    place = Place(jobs=jobs, limit=0.5, journal=str(path))
    with pytest.raises(UserError, match=r"1 of 4 runs took more than --limit 0.5 s: x=2; .*j keeps the others"):
        each_kept(Journal(path, "toy"), points(4), work.sleep_at_two, place)
    assert Journal(path, "toy").missing(points(4)) == [{"x": 2}]


def test_a_worker_of_another_version_is_named(work):
    ended = Task(work.double, "0123")({"x": 1})
    assert ended.way is Way.OTHER_CODE
    assert "and this process 0123" in ended.value


def workers_of(group):
    """Return the processes of this group that began as workers do."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(folder.name)) == group and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("after", [0, 0.2, 3])
def test_ctrl_c_is_told_by_one_process(after, tmp_path):
    """It comes while the workers import, or while they run programs, or wait for more of them."""
    command = [
        sys.executable,
        "-m",
        "lanai_sim",
        "sweep",
        "--jobs",
        "2",
        "-n",
        "1",
        "--rows",
        str(tmp_path / "rows.csv"),
    ]
    command += ["--vary", "host.match=0,1", "--", "sleep", "300"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        try:
            give_up = time.monotonic() + 60
            while len(workers_of(run.pid)) < 2 and time.monotonic() < give_up:
                time.sleep(0.001)
            time.sleep(after)
            os.killpg(run.pid, signal.SIGINT)
            _, errors = run.communicate(timeout=500)
        finally:
            run.kill()
    assert run.returncode == 130
    assert [line for line in errors.splitlines() if "Traceback" in line or "KeyboardInterrupt" in line] == []
    assert errors.splitlines()[-1] == "lanai: interrupted"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_begins_no_more_runs(sent, tmp_path):
    """A worker holds a run more than it works on. SIGTERM reaches the command alone."""
    begun = tmp_path / "begun"
    command = [sys.executable, "-m", "lanai_sim", "sweep", "--jobs", "2", "-n", "1", "--rows", "rows.csv"]
    command += ["--vary", "host.match=0,1,2,3,4", "--", "sh", "-c", f"echo >> {begun}; sleep 300"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        try:
            give_up = time.monotonic() + 60
            while not (begun.exists() and begun.read_text() == "\n\n") and time.monotonic() < give_up:
                time.sleep(0.01)
            if sent == signal.SIGINT:
                os.killpg(run.pid, sent)
            else:
                run.send_signal(sent)
            _, errors = run.communicate(timeout=500)
        finally:
            run.kill()
            for worker in workers_of(run.pid):
                os.kill(worker, signal.SIGKILL)
    assert run.returncode == 130
    assert errors.splitlines()[1:] == ["lanai: interrupted"]
    assert begun.read_text() == "\n\n"


def test_ctrl_c_that_another_thread_takes_waits_until_a_worker_is_started(monkeypatch):
    """The system gives it to a thread that does not block it, as those of numerical libraries, and Python interrupts
    the main thread. The worker would read the end of a pipe from which it needs more."""
    started, over = [], threading.Event()

    def start(pool, *arguments):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        started.append(pool)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", start)
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        with LocalPool(1) as pool, pytest.raises(KeyboardInterrupt):
            pool.submit(print)
    finally:
        over.set()
        other.join()
    assert started == [pool]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_workers_end_when_the_command_is_killed():
    code = "import os, time; from lanai_sim.executors.kinds import LocalPool\n"
    code += "if __name__ == '__main__':\n"
    code += "    pool = LocalPool(2); found = [pool.submit(os.getpid), pool.submit(time.sleep, 0)]\n"
    code += "    [one.result() for one in found]; print(*pool._processes, flush=True); time.sleep(600)\n"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as command:
        workers = [int(pid) for pid in command.stdout.readline().split()]
        command.kill()
    assert workers
    give_up = time.monotonic() + 60
    while any(exists(pid) for pid in workers):
        assert time.monotonic() < give_up
        time.sleep(0.05)


def exists(pid):
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
