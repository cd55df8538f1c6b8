"""The document that a run writes of itself: all that decides its result."""

import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from warm import lanai

from lanai_hdl.config import NicConfig
from lanai_host.config import HostConfig
from lanai_sim import version
from lanai_sim.commands.run import config_of, flags_of
from lanai_sim.job.data import SCALARS
from lanai_sim.job.document import EVALUATION, described
from lanai_sim.job.settings import KEYS
from openlanai import Job


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
    assert lanai("report", trace, "--json", report, timeout=100).returncode == 0
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
