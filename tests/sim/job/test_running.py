"""Runs beside the program: `Job.start`, and the executor of functions."""

import concurrent.futures

import pytest

import openlanai
from lanai_sim.job.job import Job
from lanai_sim.job.result import Ending
from lanai_sim.units import format_time

RING = ("python", "-c", "from mpi4py import MPI; c = MPI.COMM_WORLD; c.sendrecv(1, 1 - c.rank, source=1 - c.rank)")
BUSY = "from mpi4py import MPI\nimport sys\nMPI.COMM_WORLD.Barrier()\nprint('up', file=open(sys.argv[1], 'w'))\n"


def rank(offset):
    from mpi4py import MPI

    return MPI.COMM_WORLD.rank + offset


def fail():
    raise ValueError("no")


def wait(path):
    from mpi4py import MPI

    if MPI.COMM_WORLD.rank == 0:
        path.touch()
    while True:
        pass


def come(path, run):
    """Wait until the ranks have begun."""
    while not path.exists():
        assert not run.done(), run
    return path


def test_a_run_beside_the_program_gives_the_result_of_run():
    job = Job(RING, 2)
    with job.start() as run:
        result = run.result(timeout=60)
    assert result == job.run()
    assert run.done()
    assert run.sim_time == result.sim_time > 0
    assert run.progress == f"ended at {format_time(result.sim_time)}"
    assert repr(run) == f"<Running: {run.progress}>"
    assert run.result() is result


def test_a_run_tells_how_it_gets_on_and_can_be_cancelled(tmp_path):
    with Job(("python", "-c", f"{BUSY}while True: pass", str(tmp_path / "up")), 2).start() as run:
        come(tmp_path / "up", run)
        assert "simulated in" in run.progress
        assert "0: runs" in run.progress
        run.cancel()
        result = run.result(timeout=60)
    assert (result.ending, result.ok) == (Ending.INTERRUPTED, False)
    assert result.report.startswith("interrupted by cancel()")


def test_leaving_the_context_ends_the_ranks(tmp_path):
    with Job(("python", "-c", f"{BUSY}while True: pass", str(tmp_path / "up")), 1).start(capture=True) as run:
        come(tmp_path / "up", run)
    assert run.done()
    assert run.result().exits == (-15,)


def test_what_cannot_be_started_is_told_by_the_result():
    run = Job("nosuchprogram").start()
    with pytest.raises(openlanai.UserError, match="nosuchprogram"):
        run.result(timeout=60)
    assert run.sim_time == 0


def test_an_executor_gives_results_by_rank():
    with openlanai.Executor(ranks=2, max_workers=2) as executor:
        assert isinstance(executor, concurrent.futures.Executor)
        assert list(executor.map(rank, [0, 10, 20])) == [[0, 1], [10, 11], [20, 21]]
        error = executor.submit(fail).exception()
    assert isinstance(error, openlanai.RankError)
    assert isinstance(error.__cause__, ValueError)


def test_an_executor_ends_the_runs_under_way(tmp_path):
    executor = openlanai.Executor(ranks=2, max_workers=1, environment={"A": "b"})
    first, second = executor.submit(wait, tmp_path / "up"), executor.submit(rank, 0)
    come(tmp_path / "up", first)
    executor.shutdown(cancel_futures=True)
    assert second.cancelled()
    assert isinstance(first.exception(), openlanai.RunFailed)
    with pytest.raises(RuntimeError):
        executor.submit(rank, 0)
