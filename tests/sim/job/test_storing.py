"""The source of a stored result."""

import json
import pickle
import sys

import pytest

from lanai_host.errors import UserError
from lanai_sim import cli, sources, tables, version
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
