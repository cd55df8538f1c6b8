"""Where a stored result comes from."""

import json
import sys

import pytest

from lanai_sim import row_files, sources, version
from lanai_sim.job.storing import keep, stored_run, system_of
from lanai_sim.job.systems import SYSTEMS
from openlanai import Job, Result, Store

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
    assert row_files.as_text([run.row()]).encode().count(rb"\udcff.py") == 1
