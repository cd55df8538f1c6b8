"""The content of a job's result: codes, outputs, figures, and a deadlock as data."""

import pickle
import threading

import pytest

from lanai_host.errors import UserError
from lanai_sim.job.job import Job
from lanai_sim.job.result import Deadlock, Ending, RankOutput, Result, RunFailed
from lanai_sim.job.summary import Summary, Traffic

HELLO = "import sys; from mpi4py import MPI; r = MPI.COMM_WORLD.rank; print('rank', r); print(r, file=sys.stderr)"
MUTUAL = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Recv(bytearray(4), 1 - comm.rank, 7)
"""
ENDLESS = """
from mpi4py import MPI
while True:
    MPI.COMM_WORLD.Barrier()
"""


def python(text, ranks=2, **how):
    return Job(("python", "-c", text), ranks, capture=True, **how)


def test_outputs_and_codes_are_kept_by_rank(capfd):
    result = python(HELLO).run()
    assert result.check() is result
    assert (result.ok, result.code, result.ending, result.exits) == (True, 0, Ending.FINISHED, (0, 0))
    assert result.outputs == (RankOutput("rank 0\n", "0\n"), RankOutput("rank 1\n", "1\n"))
    assert result.figures["run.simulated_us"] > 0
    assert capfd.readouterr() == ("", "")
    assert Result.from_json(result.to_json()) == result


def test_a_deadlock_is_told_as_data():
    result = python(MUTUAL).run()
    assert (result.ok, result.ending, result.circle) == (False, Ending.DEADLOCK, (0, 1))
    first, second = result.ranks
    assert (first.wait.call, first.wait.tag, first.awaits, first.place) == ("MPI_Recv", 7, (1,), "<string>:4")
    assert second.awaits == (0,)
    assert "circle of waits" in result.report
    assert Result.from_json(result.to_json()) == result
    with pytest.raises(Deadlock, match="all ranks wait") as caught:
        result.check()
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.result) == (Deadlock, str(caught.value), result)


@pytest.mark.parametrize(
    ("text", "how", "ending", "code"),
    [
        ("import sys; from mpi4py import MPI; sys.exit(MPI.COMM_WORLD.rank * 5)", {}, Ending.RANK_FAILED, 5),
        ("from mpi4py import MPI; MPI.COMM_WORLD.Abort(7)", {}, Ending.ABORTED, 7),
        (ENDLESS, {"max_sim_time": "10us"}, Ending.SIM_TIME_LIMIT, 124),
        ("from mpi4py import MPI\nwhile True: pass", {"max_wall": 0.5}, Ending.WALL_LIMIT, 124),
    ],
)
def test_a_run_that_fails_has_a_result(text, how, ending, code):
    result = python(text, **how).run()
    assert (result.ok, result.ending, result.code) == (False, ending, code)
    with pytest.raises(RunFailed):
        result.check()


def test_a_trace_is_kept_in_memory_or_in_a_file(tmp_path):
    job = python(HELLO)
    with pytest.raises(UserError, match="was not traced"):
        _ = job.run().trace
    traced = job.run(trace=True)
    assert traced.trace_file is None
    assert traced.trace.complete
    assert len(traced.trace.calls) >= 2
    file = tmp_path / "run.trace"
    assert len(job.run(trace=file).trace.calls) == len(traced.trace.calls)
    assert file.exists()


def test_jobs_run_in_threads_beside_each_other():
    found = {}
    threads = [
        threading.Thread(target=lambda n=n: found.__setitem__(n, python(HELLO, n).run())) for n in (2, 3)
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: [one.stdout for one in result.outputs] for n, result in found.items()} == {
        n: [f"rank {rank}\n" for rank in range(n)] for n in (2, 3)
    }


def test_a_program_that_is_not_there_is_an_error_not_a_result():
    with pytest.raises(UserError, match="'no-such-program' was not found"):
        Job("no-such-program").run()
    with pytest.raises(UserError, match="no program was named"):
        Job().run()


def test_a_result_as_frames():
    summary = Summary(
        started=1_000_000, ends=(3_000_000, 5_000_000), spent=({"PIO": 500_000}, {"waiting": 1_000_000}),
        nics=(Traffic(20, {"TX_PACKETS": 3}, 10), Traffic(20, {"TX_PACKETS": 4}, 8, blocks={"remote": {"READS": 2}})),
    )  # fmt: skip
    result = Result(0, 5_000_000, summary=summary, exits=(0, None))
    assert result.rows("ranks") == [
        {"rank": 0, "end_us": 2.0, "pio_us": 0.5, "waiting_us": 0.0, "host_work_us": 1.5, "exit": 0},
        {"rank": 1, "end_us": 4.0, "pio_us": 0.0, "waiting_us": 1.0, "host_work_us": 3.0, "exit": None},
    ]
    assert result.rows("nics") == [
        {"nic": 0, "cycles": 10, "cycles_evaluated": 5, "tx_packets": 3, "reads": None},
        {"nic": 1, "cycles": 10, "cycles_evaluated": 4, "tx_packets": 4, "reads": 2},
    ]
    frame = result.frame(library="polars")
    assert frame.shape[0] == 1
    assert frame["run.tx_packets"].to_list() == [7]
    assert result.frame("ranks", "pandas")["end_us"].sum() == 6.0
    with pytest.raises(UserError, match="table 'rank' is not known; did you mean 'ranks'"):
        result.frame("rank")


def test_notebooks_show_a_result():
    shown = Result(3, 5_000_000, "all <wait>", notes=("one", "two"), ending=Ending.DEADLOCK)._repr_html_()
    assert "<caption>Result</caption>" in shown
    for name, value in {"ending": "deadlock", "code": 3, "report": "all &lt;wait&gt;", "notes": "one; two"}.items():
        assert f"<tr><th>{name}</th><td>{value}</td></tr>" in shown
