"""Records of the papers' runs: the pages in docs are what they give, and the code gives them."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from lanai_host.errors import UserError
from lanai_sim.cli import main
from lanai_sim.commands import paper as paper_command
from lanai_sim.commands.paper import expected
from lanai_sim.studies import drawing
from lanai_sim.studies.drawing import Plot
from lanai_sim.studies.papers import claims, page, records, studies
from lanai_sim.studies.papers import studies as artifact
from lanai_sim.studies.papers.claims import Bound, Claim, Kind, load
from lanai_sim.studies.papers.page import Grid, Section, number, written
from lanai_sim.studies.papers.records import Part, Record
from lanai_sim.studies.papers.t3d.study import STUDY
from lanai_sim.studies.papers.verdicts import Answer

# `lanai paper --artifact`: a script that measures again and says by its exit code whether all figures came out.

STUB = """\
#!/bin/sh
if [ "$1" = diff ]; then exec {python} -m lanai_sim "$@"; fi
echo "$@" > called.txt
{measure}
"""


def repeat(folder, measure):
    """The exit code of the script, where `measure` stands for `lanai paper`."""
    command = folder / "bin" / "lanai"
    command.parent.mkdir(exist_ok=True)
    command.write_text(STUB.format(python=sys.executable, measure=measure))
    command.chmod(0o755)
    path = f"{command.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(folder / "run.sh")], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_the_script_ends_with_0_if_the_figures_came_out_with_1_if_not_and_with_2_if_there_are_none(tmp_path):
    study = studies.find("t3d")
    record = Record({"latency_us.32": 30.0, "put_MBps": 115.0, "get_MBps": 57.0}, "abc", "2026-11-26", True, 6)
    artifact.write(tmp_path, "t3d", study.frame, record, study.answer(dict(record.figures)))
    assert repeat(tmp_path, "cp expected.json measured.json")[0] == 0
    assert (tmp_path / "called.txt").read_text().split()[:2] == ["paper", "t3d"]
    found = json.loads((tmp_path / "expected.json").read_text())
    found["figures"]["paper.t3d.figure.latency_us.32"] = 30.1
    (tmp_path / "other.json").write_text(json.dumps(found))
    code, said = repeat(tmp_path, "cp other.json measured.json")
    assert code == 1
    assert "paper.t3d.figure.latency_us.32" in said
    assert repeat(tmp_path, "exit 3")[0] == 2


def test_it_tells_commit_hours_tolerance_and_what_to_expect(tmp_path):
    study = studies.find("mbcf")
    record = Record({"theirs.oneway.write.4": 24.0, "theirs.npb.ep.seconds": 15.14}, "abc", "2026-11-26", False, 90)
    records.write(tmp_path / "mbcf.json", "mbcf", record, study.answer(dict(record.figures)))
    assert main(["paper", "mbcf", "--from", str(tmp_path / "mbcf.json"), "--artifact", str(tmp_path / "a")]) == 0
    text = (tmp_path / "a" / "README.md").read_text()
    for words in ("commit `abc`", "about 1.5 h", "within 0.1 %", "| `mbcf.t2_1.write.4` | 24.5 us | 24 |", "`NPB`"):
        assert words in text
    assert all(one.says in text for one in study.frame.experiments)
    assert '--npb "$NPB"' in (tmp_path / "a" / "run.sh").read_text()
    assert records.read(tmp_path / "a" / "expected.json", "mbcf") == record


@pytest.mark.parametrize(("quick", "end"), [(True, " --quick"), (False, "--output .")])
def test_it_repeats_a_quick_record_quickly(quick, end):
    assert artifact.command("t3d", Record({}, quick=quick)).endswith(end)


# Sections of a paper's page: tables as the paper prints them.


def answer(name, published, ours, kind=Kind.PREDICTED, **more):
    return Answer(Claim(f"p.{name}", kind, "So.", "1", published), ours, **more)


GRID = Grid(
    ("bytes", "write", "read"), {"4": ("w.4", "r.4"), "64": ("w.64", ""), "5 and 6": (("many", 0), ("many", 1))}
)
MANY = Answer(Claim("p.many", Kind.SHAPE, "So.", "1", values=(5.0, 6.0)), holds=True, values=(5.1, None))
ANSWERS = [
    answer("w.4", 10.0, 10.5),
    answer("r.4", 10.0, 13.0, why="Reads wait."),
    answer("w.64", 1234.5, None),
    MANY,
]


def test_a_table_has_published_and_ours_in_each_cell():
    text = written(GRID, {one.short: one for one in ANSWERS})
    assert text.splitlines() == [
        "| bytes | write | read |",
        "| --- | --- | --- |",
        "| 4 | 10 / 10.5 | **10 / 13** |",
        "| 64 | 1,234.5 / - |  |",
        "| 5 and 6 | 5 / 5.1 | 6 / - |",
    ]
    assert GRID.claims == ["w.4", "r.4", "w.64", "many"]


def test_a_section_has_its_plots_and_one_cause_for_numbers_that_are_far_off():
    section = Section("Table 1", "Times.", {"f": "It falls. See why.", "g": "Not drawn. So not here."}, [GRID])
    also = answer("r.8", 10.0, 14.0, why="Reads wait.")
    grid = replace(GRID, lines={**GRID.lines, "8": ("", "r.8")})
    frame = replace(STUDY.frame, sections=[replace(section, grids=[grid])])
    text = page.write("p", frame, [*ANSWERS, also], {"f": Plot("A plot", "x", "y")}, "figures", Record({}))
    assert "## Table 1\n\nTimes.\n\n![A plot](figures/p-f.svg)\n\nIt falls. See why.\n\n| bytes" in text
    assert "Not drawn" not in text
    assert "- `r.4` 1.30, `r.8` 1.40: Reads wait. Cause not known." in text
    assert "## Not answered" not in text


def test_numbers_read_well():
    assert [number(value) for value in (None, 3.0, 12345.0, 0.13834, 1234.56)] == ["", "3", "12,345", "0.1383", "1,235"]


@pytest.mark.parametrize("paper", studies.names())
def test_sections_name_claims_and_say_two_sentences_for_each_plot(paper):
    known = {claim.id.partition(".")[2]: claim for claim in load(paper)}
    for section in studies.find(paper).frame.sections:
        assert all(name in known for grid in section.grids for name in grid.claims)
        for grid in section.grids:
            assert all(len(cells) == len(grid.columns) - 1 for cells in grid.lines.values())
        for name, words in section.plots.items():
            assert len([part for part in words.split(". ") if part]) >= 2, name


KEPT = [name for name in studies.names() if studies.find(name).record.is_file()]


def kept(paper):
    study = studies.find(paper)
    return study, records.read(study.record, paper)


@pytest.mark.parametrize("paper", KEPT)
def test_the_page_is_what_the_record_gives(paper):
    """The page and its record agree. If they do not, run `lanai paper PAPER --from docs/papers/PAPER.json`."""
    study, record = kept(paper)
    assert study.record.with_suffix(".md").read_text() == study.page(record)


@pytest.mark.parametrize("paper", KEPT)
def test_the_page_is_short_and_names_every_plot(paper):
    study, record = kept(paper)
    text = study.page(record)
    assert len(text.encode()) <= page.MOST
    assert all(f"](figures/{name}.svg)" in text for name in study.plots(record))
    assert set(study.draw(dict(record.figures))) <= {name for section in study.frame.sections for name in section.plots}


@pytest.mark.parametrize("paper", KEPT)
def test_the_plots_are_what_the_record_gives(paper):
    study, record = kept(paper)
    for name, plot in study.plots(record).items():
        drawn = study.record.parent / "figures" / f"{name}.svg"
        assert drawing.digest_of(drawn.read_text()) == plot.digest(), name


@pytest.mark.parametrize("paper", KEPT)
def test_the_record_was_measured_and_scored_by_commits(paper):
    study, record = kept(paper)
    scored = json.loads(study.record.read_text())["commit"]
    commits = (scored, record.commit, *(part.commit for part in record.parts))
    assert all(one and not one.endswith("-dirty") for one in commits)


def test_a_page_is_not_made_of_files_that_are_in_no_commit(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paper_command, "commit", lambda: "0123456789abcdef-dirty")
    assert main(["paper", "t3d"]) == 2
    assert "this one is of 0123456789ab with files changed (git status); commit them first" in capsys.readouterr().err
    study = studies.find("t3d")
    records.write(tmp_path / "r.json", "t3d", Record({}, "abc-dirty"), study.answer({}))
    assert main(["paper", "t3d", "--from", str(tmp_path / "r.json")]) == 2
    assert main(["paper", "t3d", "--from", str(tmp_path / "r.json"), "--output", str(tmp_path)]) == 0


def test_a_record_is_read_as_it_was_written(tmp_path):
    record = Record({"a": 1.5}, "abc", "2026-11-26", False, 12.3)
    records.write(tmp_path / "r.json", "t3d", record, [])
    assert records.read(tmp_path / "r.json", "t3d") == record
    with pytest.raises(
        UserError, match=r"cannot read .*none\.json': No such file .*; `lanai paper t3d` writes them, or"
    ):
        records.read(tmp_path / "none.json", "t3d")


def test_figures_that_need_what_a_run_had_not_are_those_of_another_run(tmp_path):
    before = Record({"a": 1.0, "b.npb.c": 2.0, "b.npb.d": 3.0}, "old", "2026-11-25", False, 90)
    now = Record({"a": 1.5, "b.npb.d": 3.5}, "new", "2026-11-26", False, 12)
    found = records.completed(now, before, ["npb"])
    assert found.figures == {"a": 1.5, "b.npb.c": 2.0, "b.npb.d": 3.5}
    assert found.words == (
        "Measured by a full run of commit `new` on 2026-11-26, in 12 min. 1 of its figures (those that need `--npb`) "
        "is of another run, of commit `old` on 2026-11-25."
    )
    records.write(tmp_path / "r.json", "mbcf", found, [])
    assert records.read(tmp_path / "r.json", "mbcf") == found
    again = records.completed(replace(now, figures={"a": 1.6}, date="2026-11-27"), found, ["npb"])
    assert [(one.count, one.commit) for one in again.parts] == [(2, "old")]
    assert records.completed(now, before, []) == now
    part = Part(3, "abc", "2026-11-26", experiments=("colliding",))
    assert part.words == (
        "3 of its figures (experiment `colliding`) are of another run, of commit `abc` on 2026-11-26."
    )


@pytest.mark.parametrize(
    ("minutes", "words"), [(0.2, "1 min"), (12.3, "12 min"), (90, "1.5 h"), (0, "a time that was not written down")]
)
def test_a_run_tells_how_long_it_takes(minutes, words, tmp_path):
    study = studies.find("t3d")
    assert Record({}, minutes=minutes).took == words
    elsewhere = replace(study, checkout=tmp_path, quick_minutes=0)
    assert "no t3d.json says how long" in expected(elsewhere, True)
    (tmp_path / "docs" / "papers").mkdir(parents=True)
    records.write(elsewhere.record, "t3d", Record({}, minutes=minutes), [])
    assert expected(elsewhere, False) == f"t3d: the last such run took {words} (t3d.json)"
    assert expected(study, True) == "t3d: a quick run takes about 2 min of processor time"
    assert "no t3d.json says how long" in expected(elsewhere, True)


# The claims of the papers, as data.


def test_all_of_the_thesis_are_there():
    found = claims.load("mpi-np")
    assert len(found) == len({claim.id for claim in found}) == 104
    counts = {kind: sum(claim.kind is kind for claim in found) for kind in Kind}
    assert counts == {Kind.CONSTANT: 33, Kind.FITTED: 1, Kind.PREDICTED: 10, Kind.SHAPE: 35, Kind.CONTEXT: 25}
    assert all(claim.says.endswith(".") and claim.where for claim in found)


def test_published_values_read_well():
    by_id = {claim.id.removeprefix("mpi-np."): claim for claim in claims.load("mpi-np")}
    assert by_id["s4_3.latency_4B"].published == "68 us"
    assert by_id["s3_1.sram"].published == "1,048,576 bytes"
    assert by_id["s3_1.channels"].published == "at most 64"
    assert by_id["s2_1.price_perf_super"].published == "20 to 30 %"
    assert by_id["s2_4_2.fm_api"].published == "3, 5"
    assert by_id["s3_1.in_order"].published == ""
    assert by_id["s3_1.channels"].bound is Bound.MAX


ROW = '[[claim]]\nid = "p.a"\nkind = "shape"\nsays = "It is."\nwhere = "1"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROW + ROW, "'p.a' is there twice"),
        (ROW.replace("shape", "shaep"), "kind 'shaep'; it must be one of constant, fitted, predicted"),
        (ROW.replace("shape", "fitted"), "'p.a' must have rows if it is fitted"),
        (ROW + 'rows = ["p.a"]\n', "'p.a' must have rows if it is fitted, and only then"),
        (ROW.replace("shape", "fitted") + 'rows = ["p.b"]\n', "'p.a' has rows p.b, which are not claims here"),
        (ROW + 'bound = "most"\n', "bound 'most'"),
        (ROW + "vaule = 3\n", "unknown keys vaule"),
        (ROW.replace('where = "1"\n', ""), "lacks where"),
        (ROW.replace("p.a", "q.a"), "must begin with 'p.'"),
        ("[[claim", "x.toml: "),
    ],
)
def test_mistakes_are_told(text, message):
    with pytest.raises(UserError, match=message):
        claims.parse(text, "p", "x.toml")


def test_unknown_paper():
    with pytest.raises(UserError, match=r"'mbfc' is not known; did you mean 'mbcf'\? choose one of .*mpi-np"):
        claims.load("mbfc")


def test_missing_file(tmp_path):
    with pytest.raises(UserError, match="cannot read claims from"):
        claims.read(tmp_path / "none.toml", "p")
