"""`lanai diff`: what it prints, and its exit code."""

import json
from pathlib import Path

import pytest

from lanai_sim import cli


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
