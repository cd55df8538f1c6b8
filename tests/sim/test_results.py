"""`lanai run --store` and `lanai results`: what they keep, print and write."""

import csv
import io
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pandas
import polars
import pytest

from lanai_host.errors import UserError
from lanai_sim import cli, figures, tables
from lanai_sim.commands.results import WIDTH
from openlanai import Job, Result, Store

PROGRAM = ["python", "-c", "from mpi4py import MPI"]
LOCKED = ["python", "-c", "from mpi4py import MPI\nMPI.COMM_WORLD.Recv(bytearray(4))"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with a store: two runs that went well, one that ended in a deadlock."""
    folder = tmp_path_factory.mktemp("project")
    path = folder / "lanai.db"
    Job(PROGRAM, ranks=2).run(store=path)
    Job(PROGRAM, ranks=3).but(host={"call": 900000}).run(store=path)
    Job(LOCKED, ranks=2).run(store=str(path))
    return folder


@pytest.fixture
def here(kept, monkeypatch):
    monkeypatch.chdir(kept)
    return kept


def printed(capsys, *words):
    assert cli.main(["results", *words]) == 0
    return capsys.readouterr().out


def ids(text):
    return [int(line.split()[0]) for line in text.splitlines() if line.split()[0].isdecimal() and "20" in line]


def test_the_list_has_the_newest_last_and_fits(here, capsys):
    lines = printed(capsys).splitlines()
    assert lines[0].split() == ["id", "date", "(UTC)", "ran", "on", "ranks", "simulated", "us", "ending", "program"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3", "3"]
    assert "ideal, changed" in lines[2]
    assert "deadlock (3)" in lines[3]
    assert lines[4] == "3 runs of 3 in lanai.db"
    assert max(len(line.rstrip()) for line in lines) <= WIDTH


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--program", "Recv"], [3]),
        (["--device", "ideal"], [1, 2, 3]),
        (["--device", "sci"], []),
        (["--system", "ideal"], [1, 3]),
        (["--since", "1d", "--last", "2"], [2, 3]),
        (["--since", "2126-01-01"], []),
        (["--where", "ranks=2", "--where", "ok=true"], [1]),
        (["--where", "host.call>300000"], [2]),
    ],
)
def test_filters(here, capsys, words, expected):
    assert ids("\n".join(printed(capsys, *words).splitlines()[1:-1])) == expected


def test_one_is_shown_with_where_it_comes_from(here, capsys):
    text = printed(capsys, "show", "3")
    for part in ("deadlock, code 3", "openlanai ", "waits in MPI_Recv", "run.simulated_us = ", "host.call = 300000"):
        assert part in text


def test_exports(here, capsys, tmp_path):
    rows = list(csv.DictReader(io.StringIO(printed(capsys, "--format", "csv"))))
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert [row["host.call"] for row in rows] == ["300000", "900000", "300000"]
    path = tmp_path / "rows.json"
    assert printed(capsys, "--rows", str(path), "--last", "1") == f"wrote 1 run to {path}\n"
    (row,) = json.loads(path.read_text())
    assert (row["id"], row["code"], row["ok"]) == (3, 3, False)
    assert cli.main(["results", "--format", "parquet"]) == 2
    assert "--format parquet needs a file" in capsys.readouterr().err


def test_a_run_is_run_again_from_the_store(here, tmp_path):
    path = tmp_path / "again.json"
    assert cli.main(["results", "show", "2", "--config", str(path)]) == 0
    run = Store().run(2)
    again = Job.from_json(path.read_text()).run()
    assert (again.figures, again.sim_time) == (run.figures, Result.from_json(run.result).sim_time)


def test_two_are_compared(here, capsys, tmp_path):
    path = tmp_path / "one.json"
    assert cli.main(["results", "show", "1", "--json", str(path)]) == 0
    capsys.readouterr()
    assert cli.main(["diff", str(path), "1"]) == 0
    assert "nothing changed" in capsys.readouterr().out
    assert cli.main(["diff", "1", "2"]) == 0
    assert "host.call: 300000 -> 900000\n" in capsys.readouterr().out
    assert cli.main(["diff", "1", "77", "--store", "lanai.db"]) == 2
    assert "has no run 77" in capsys.readouterr().err


def test_deleting(kept, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for run in Store(kept / "lanai.db").runs():
        Store().add(run)
    assert printed(capsys, "delete", "1", "3", "--store", "lanai.db") == "deleted 2 runs from lanai.db\n"
    assert [run.id for run in Store().runs()] == [2]
    assert cli.main(["results", "--store", "none.db", "delete", "2"]) == 2
    assert "there is no store 'none.db'" in capsys.readouterr().err


def lanai(folder, *words):
    command = [sys.executable, "-m", "lanai_sim", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500, check=False)


def test_a_run_says_what_it_has_kept(tmp_path):
    done = lanai(tmp_path, "run", "-n", "2", "--store", "--", *PROGRAM)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-1] == "lanai: kept as run 1 of lanai.db (lanai results)"
    done = lanai(tmp_path, "run", "--store=other.db", "-q", *LOCKED)
    assert done.returncode == 3
    assert "kept" not in done.stderr
    assert Store(tmp_path / "other.db").run(1).program == tuple(LOCKED)


def test_a_program_is_not_taken_for_a_store(tmp_path):
    done = lanai(tmp_path, "run", "--store", *PROGRAM)
    assert done.returncode == 2
    assert "'python' is not a store's name, which ends in .db; write --store=FILE.db, or -- before" in done.stderr
    assert os.listdir(tmp_path) == []


def test_a_run_without_a_place_for_its_result_is_not_begun(tmp_path):
    done = lanai(tmp_path, "run", "--store=no/a.db", "python", "-c", "print('begun')")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lanai: error: cannot use the store 'no/a.db'")
    with pytest.raises(UserError, match="cannot use the store"):
        Job(PROGRAM).run(store=tmp_path / "no" / "a.db")


@pytest.mark.ci
def test_sweeps_and_comparisons_keep_their_runs(tmp_path):
    words = ["--store", "-n", "1,2", "--vary", "device=ideal", "--jobs", "1", "--", *PROGRAM]
    assert lanai(tmp_path, "sweep", *words).returncode == 0
    words = ["--store", "--systems", "ideal", "--jobs", "1", "--", *PROGRAM]
    assert lanai(tmp_path, "compare", *words).returncode == 0
    assert [run.ranks for run in Store(tmp_path / "lanai.db").runs()] == [1, 2, 2]


def test_the_store_as_a_frame(here):
    frame = Store().frame("pandas")
    assert list(frame["id"]) == [1, 2, 3]
    assert frame["run.simulated_us"].dtype == float


# Tables as frames: pandas or polars, and what is said if neither is there.

COLUMNS = {"rank": [0, 1], "end_us": [1.5, 2.5]}


def test_either_library():
    assert isinstance(tables.frame(COLUMNS, "polars"), polars.DataFrame)
    assert isinstance(tables.frame(COLUMNS, "pandas"), pandas.DataFrame)
    assert tables.frame(COLUMNS, "polars").to_dict(as_series=False) == COLUMNS
    assert tables.frame(COLUMNS, "pandas").to_dict(orient="list") == COLUMNS


def test_the_one_that_is_installed_is_taken(monkeypatch):
    assert isinstance(tables.frame(COLUMNS), pandas.DataFrame)
    monkeypatch.setattr(tables, "find_spec", lambda name: True if name == "polars" else None)
    assert isinstance(tables.frame(COLUMNS), polars.DataFrame)


def test_none_is_installed(monkeypatch):
    for name in tables.LIBRARIES:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match=r"frames need pandas or polars .*; pip install 'openlanai\[frames\]'"):
        tables.frame(COLUMNS)
    with pytest.raises(UserError, match=r"frames need polars .*; pip install 'polars'"):
        tables.frame(COLUMNS, "polars")


def test_another_library():
    with pytest.raises(UserError, match="library 'panda' is not known; did you mean 'pandas'"):
        tables.frame(COLUMNS, "panda")


def test_rows():
    rows = [{"rank": 0, "end_us": 1.5}, {"rank": 1, "end_us": 2.5}]
    assert tables.of_rows(rows, "pandas").to_dict(orient="list") == COLUMNS
    assert len(tables.of_rows([], "polars")) == 0


# `lanai diff`: what it prints, and its exit code.


def result(path, **figures):
    named = {f"run.{name}": value for name, value in figures.items()}
    path.write_text(json.dumps({"figures": named, "config": {"program": ["true"], "host": {"call": figures["n"]}}}))
    return str(path)


@pytest.fixture
def two(tmp_path):
    return (
        result(tmp_path / "a.json", simulated_us=100.0, n=3),
        result(tmp_path / "b.json", simulated_us=103.0, n=4),
    )


def test_tables_and_verdict(two, capsys):
    assert cli.main(["diff", *two]) == 0
    shown = capsys.readouterr().out
    assert "host.call: 3 -> 4\n" in shown
    assert ["run.simulated_us", "100.000", "103.000", "+3.000", "+3.0", "%"] in map(str.split, shown.splitlines())
    assert ["run.n", "3", "4", "+1", "+33.3", "%"] in map(str.split, shown.splitlines())
    assert shown.splitlines()[-1].startswith(f"{two[1]} took 3.0 % more simulated time")


@pytest.mark.parametrize(("limit", "code"), [("2%", 1), ("2.9", 1), ("3%", 0), ("50 %", 0)])
def test_the_exit_code_is_for_scripts(two, limit, code):
    assert cli.main(["diff", *two, "--fail-above", limit]) == code


@pytest.mark.parametrize("limit", ["much", "-1%", "nan", "inf"])
def test_a_limit_that_is_none_is_refused(two, limit, capsys):
    for words in (["--fail-above", limit], [f"--fail-above={limit}"]):
        assert cli.main(["diff", *two, *words]) == 2
        assert f"{limit!r} is not a share; write, for example, 2%" in capsys.readouterr().err


def test_rows_beyond_the_most_are_counted(two, tmp_path, capsys):
    long = [result(tmp_path / f"{n}.json", n=n, **{f"x{i}": n for i in range(20)}) for n in (1, 2)]
    assert cli.main(["diff", *long, "--most", "5"]) == 0
    assert "and 16 more (--most 21)" in capsys.readouterr().out


def test_differences_as_json(two, tmp_path):
    path = tmp_path / "d.json"
    assert cli.main(["diff", *two, "--json", str(path)]) == 0
    assert json.loads(path.read_text())["figures"] == {"diff.run.n": 1, "diff.run.simulated_us": 3.0}


def test_a_figure_that_is_not_a_number_is_refused(tmp_path, capsys):
    path = str(tmp_path / "a.json")
    Path(path).write_text('{"figures": {"x": NaN}, "config": {"program": null}}')
    assert cli.main(["diff", path, path, "--fail-above", "1%"]) == 2
    assert "a.json: its figure 'x' is nan, which cannot be compared; measure again" in capsys.readouterr().err


def test_figures_are_sorted_and_versioned(tmp_path):
    path = tmp_path / "figures.json"
    figures.write_json(path, {"b.two": 2, "a.one": 1.5}, {"size": 4})
    record = json.loads(path.read_text())
    assert list(record["figures"]) == ["a.one", "b.two"]
    assert record["config"] == {"size": 4}
    assert record["version"] == version("openlanai")


def test_unwritable_figures_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"missing/figures\.json"):
        figures.write_json(tmp_path / "missing" / "figures.json", {}, {})
