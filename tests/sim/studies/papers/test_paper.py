"""`lanai paper`: answers, score, page; the whole run behind slow."""

import itertools
import json
from dataclasses import replace
from importlib import import_module
from string import Formatter
from types import SimpleNamespace

import pytest

from lanai_host.errors import UserError
from lanai_sim.cli import main
from lanai_sim.commands import paper as command
from lanai_sim.executors.place import Place
from lanai_sim.studies import papers
from lanai_sim.studies.drawing import Plot
from lanai_sim.studies.papers import claims, page, records, studies, verdicts
from lanai_sim.studies.papers import claims as measuring
from lanai_sim.studies.papers.claims import Bound, Claim, Kind
from lanai_sim.studies.papers.mpi_np import experiments, host_work, study
from lanai_sim.studies.papers.mpi_np.study import STUDY
from lanai_sim.studies.papers.records import Record
from lanai_sim.studies.papers.verdicts import Answer, ByFigure, ByShape, Held

CLAIMS = [
    Claim("p.a", Kind.PREDICTED, "It takes this long.", "1", 10.0, unit="us"),
    Claim("p.b", Kind.SHAPE, "It falls.", "2"),
    Claim("p.c", Kind.CONSTANT, "There are this many.", "3", 4.0, bound=Bound.MAX),
    Claim("p.d", Kind.CONTEXT, "Others are slow.", "4"),
]
WAYS = {
    "p.a": ByFigure("t.a", "A | reason.", "o.a"),
    "p.b": ByShape(lambda f: f["t.low"] < f["t.high"], "from {f[t.high]:g} to {f[t.low]:g}", "Why."),
    "p.c": ByFigure("missing", "No."),
}
FIGURES = {"t.a": 10.5, "o.a": 5.0, "t.low": 1.0, "t.high": 3.0}


def test_answers_and_score():
    found = verdicts.answers(CLAIMS, WAYS, {"p.d": Held(("tests/x.py::test",))}, FIGURES)
    assert [one.answered for one in found] == [True, True, False, True]
    assert (found[0].ratio, found[0].near, found[0].default) == (1.05, True, 5.0)
    assert (found[1].holds, found[1].saw) == (True, "from 3 to 1")
    total = verdicts.score(found)
    assert (total["claims"], total["answered"], total["predicted"], total["predicted_within_10"]) == (4, 3, 1, 1)
    assert (total["constants"], total["shapes"], total["tested_alone"]) == (0, 1, 1)


def test_only_predicted_numbers_are_scored():
    def answer(kind, value, rows=()):
        return Answer(Claim("p.a", kind, "So.", "1", 10.0, rows=rows), value)

    total = verdicts.score(
        [answer(Kind.PREDICTED, value) for value in (10.5, 12.0, 20.0)]
        + [answer(Kind.CONSTANT, 10.0), answer(Kind.FITTED, 10.0, ("p.a",)), answer(Kind.FITTED, 14.0, ("p.a",))]
        + [Answer(Claim("p.a", Kind.FITTED, "So.", "1", rows=("p.a",)), holds=True)]
        + [Answer(Claim("p.a", Kind.PREDICTED, "So.", "1", 10.0, weak="The same again."), 10.0)]
    )
    assert verdicts.words(total) == (
        "3 predicted numbers: 1 within 10 %, 1 more within 25 %, 1 off. 1 more could not have failed, and do not "
        "count. Besides: 2 of 3 fitted rows agree, 0 of 0 shapes show and 0 tie, tests hold 0 claims, 1 numbers "
        "are the design's constants. Of 8 claims 8 are answered."
    )
    assert verdicts.words(verdicts.score([answer(Kind.CONSTANT, 10.0)])).startswith("No number is predicted")


@pytest.mark.parametrize(("ahead", "holds", "tie"), [(1.06, True, False), (1.04, False, True), (0.97, False, True)])
def test_a_lead_of_less_than_5_percent_is_a_tie(ahead, holds, tie):
    way = ByShape(lambda f: f["t.lead"] > 1, "{f[t.lead]}", "Why.", lead=lambda f: f["t.lead"])
    (found,) = verdicts.answers([Claim("p.a", Kind.SHAPE, "So.", "1")], {"p.a": way}, {}, {"t.lead": ahead})
    assert (found.holds, found.tie) == (holds, tie)
    assert verdicts.score([found])["shapes_that_tie"] == tie


@pytest.mark.parametrize(
    ("bound", "value", "near"),
    [
        (Bound.EQ, 11.0, True),
        (Bound.EQ, 11.1, False),
        (Bound.MIN, 50.0, True),
        (Bound.MAX, 10.5, False),
        (Bound.LT, 1.0, True),
    ],
)
def test_near_respects_the_bound(bound, value, near):
    claim = Claim("p.a", Kind.PREDICTED, "So.", "1", 10.0, bound=bound)
    assert Answer(claim, value).near is near


def test_page_holds_every_claim_once():
    found = verdicts.answers(CLAIMS, WAYS, {"p.c": Held(why="It is not known.")}, FIGURES)
    record = Record(FIGURES, "abc", "2026-11-26", True, 90)
    frame = replace(STUDY.frame, sections=())
    text = page.write("p", frame, found, {"f": Plot("A plot", "x", "y")}, "figures", record)
    assert text.splitlines()[-3] == (
        "Measured by a quick run, with fewer sizes and repetitions, of commit `abc` on 2026-11-26, in 1.5 h."
    )
    assert all(text.count(f"`{claim.id.removeprefix('p.')}`") == 1 for claim in CLAIMS)
    assert "| It takes this long `a` | 10 us | 10.5 | 5 | 1.05 | A \\| reason. |" in text
    assert "| It falls `b` | shows | from 3 to 1 |" in text
    assert "![A plot](figures/p-f.svg)" in text
    assert "- `c`: It is not known." in text


def test_what_does_not_show_has_its_reason():
    found = verdicts.answers(CLAIMS, WAYS, {}, FIGURES | {"t.low": 5.0})
    text = page.write("p", replace(STUDY.frame, sections=()), found, {}, "figures", Record(FIGURES))
    assert "| It falls `b` | **does not** | from 3 to 5. Why. |" in text


def test_a_number_that_is_far_off_names_what_shows_why_or_says_that_it_is_not_known():
    claim = Claim("p.a", Kind.PREDICTED, "So.", "1", 10.0)
    assert Answer(claim, 11.4, why="So.").cause == "So."
    assert Answer(claim, 11.6, why="So.").cause == "So. Cause not known."
    assert Answer(claim, 11.6, why="So.", experiment="clock").cause == "So. Experiment `clock` shows it."
    assert Answer(replace(claim, kind=Kind.CONSTANT), 20.0, why="So.").cause == "So."


@pytest.mark.parametrize("paper", studies.names())
def test_reasons_name_experiments(paper):
    found = studies.find(paper)
    named = {way.experiment for way in found.ways().values() if isinstance(way, ByFigure) and way.experiment}
    assert named <= {one.name for one in found.frame.experiments}


@pytest.mark.parametrize("paper", studies.names())
def test_words_and_claims_belong_to_each_other(paper):
    """A sentence whose figure no experiment gives would never be seen."""
    found, known = studies.find(paper), claims.load(paper)
    computed = import_module(found.draw.__module__).COMPUTED
    texts = [text for claim in known for text in (claim.saw, *claim.why)]
    words = {name for text in texts for _, name, *_ in Formatter().parse(text) if name}
    figures = {name.removeprefix("f[").removesuffix("]") for name in words if name.startswith("f[")}
    named = {claim.figure for claim in known} | {claim.default for claim in known}
    assert figures | named - {""} <= set(found.kept.figures)
    assert {name for name in words if not name.startswith("f[")} <= set(computed)
    assert set(computed) <= words | {claim.short for claim in known}
    assert set(found.ways()) <= {claim.id for claim in known}
    assert all(one.answered or one.why for one in found.answer({}))


def test_constants_of_the_design():
    figures = host_work.figures(True)
    assert figures["design.channels"] == 64
    assert figures["design.memory_share_percent"] == 50
    assert figures["design.receive_bytes_per_channel"] >= 4608


def test_mapping_of_tests(tmp_path):
    tests = tmp_path / "tests" / "claims"
    tests.mkdir(parents=True)
    (tmp_path / "tests" / "test_it.py").write_text("def test_it(): pass\n")
    mapping = tests / "p.toml"
    mapping.write_text('["p.a"]\ntest = ["tests/test_it.py::test_it[4]"]\nwhy = "So."\n')
    assert verdicts.read_tests(mapping, CLAIMS) == {"p.a": Held(("tests/test_it.py::test_it[4]",), "So.")}
    for old, new, message in (
        ("test_it[4]", "test_that", "has no test 'test_that'"),
        ("test_it.py", "test_no.py", "'tests/test_no.py' is not there"),
        ("p.a", "p.z", "'p.z' is not a claim"),
        ("[", "[[", "p.toml: "),
    ):
        (tests / "q.toml").write_text(mapping.read_text().replace(old, new))
        with pytest.raises(UserError, match=message.replace("p.toml", "q.toml")):
            verdicts.read_tests(tests / "q.toml", CLAIMS)
    assert verdicts.read_tests(tests / "none.toml", CLAIMS) == {}


def test_the_checkouts_mapping_is_sound():
    verdicts.read_tests(STUDY.mapping, claims.load("mpi-np"))


def test_first_version_takes_three_transfers_a_page(expected):
    figures = experiments.transfers(True)
    assert figures["version.first.host_dmas_per_page"] == 3
    expected("paper.second.host_dmas_per_page", figures["version.second.host_dmas_per_page"])


def test_errors_are_told(tmp_path, capsys, monkeypatch):
    assert main(["paper", "mbfc"]) == 2
    known = ", ".join(studies.names())
    assert f"paper 'mbfc' is not known; did you mean 'mbcf'? choose one of {known}" in capsys.readouterr().err
    assert main(["paper", "mpi-np", "--jobs", "-2"]) == 2
    (tmp_path / "file").write_text("")
    assert main(["paper", "mpi-np", "--output", str(tmp_path / "file")]) == 2
    assert "cannot make the directory" in capsys.readouterr().err
    (tmp_path / "f.json").write_text("[]")
    for name, said in (("f.json", "holds no figures of this paper"), ("none.json", "cannot read the figures of this")):
        assert main(["paper", "mpi-np", "--from", str(tmp_path / name), "--output", str(tmp_path)]) == 2
        assert said in capsys.readouterr().err
    monkeypatch.setattr(study, "STUDY", replace(STUDY, checkout=tmp_path))
    assert main(["paper", "mpi-np"]) == 2
    assert "name a directory with --output" in capsys.readouterr().err


def test_a_paper_without_a_study_is_refused(tmp_path, capsys, monkeypatch):
    """And not answered with another paper's figures."""
    folder = tmp_path / "other_paper"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "claims.toml").write_text(
        '[[claim]]\nid = "other-paper.a"\nkind = "predicted"\nsays = "It is fast."\nwhere = "1"\n'
    )
    monkeypatch.setattr(papers, "__path__", [*papers.__path__, str(tmp_path)])
    assert main(["paper", "other-paper", "--quick"]) == 2
    said = capsys.readouterr()
    assert said.err == (
        "lanai: error: the paper 'other-paper' (lanai_sim.studies.papers.other_paper) cannot be used: its folder must "
        "hold study.py\n"
    )
    assert said.out == ""


def test_a_study_that_is_none_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(study, "STUDY", "mpi-np")
    assert main(["paper", "mpi-np", "--quick"]) == 2
    said = capsys.readouterr().err
    assert "(lanai_sim.studies.papers.mpi_np) cannot be used: STUDY in " in said
    assert "is 'mpi-np'; it must be an object of Study (lanai_sim.studies.papers.studies)" in said


def test_every_study_is_whole():
    for name in studies.names():
        found = studies.find(name)
        assert name == found.paper
        assert {claim.id for claim in claims.load(name)} == {one.claim.id for one in found.answer({})}


def test_a_whole_run_of_one_experiment(tmp_path, monkeypatch):
    few = tuple(one for one in experiments.EXPERIMENTS if one.name == "slowdown")
    monkeypatch.setattr(experiments, "EXPERIMENTS", few)
    clock = itertools.count(step=720)
    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    table = tmp_path / "t.jsonl"
    options = [
        "--quick",
        "--jobs",
        "1",
        "--table",
        str(table),
        "--json",
        str(tmp_path / "p.json"),
        "--output",
        str(tmp_path / "docs"),
    ]
    assert main(["paper", "mpi-np", *options]) == 0
    figures = json.loads((tmp_path / "p.json").read_text())["figures"]
    assert figures["paper.mpi-np.claims"] == 104
    assert figures["paper.mpi-np.answered"] >= figures["paper.mpi-np.constants"] >= 2
    assert len(table.read_text().splitlines()) == 1
    monkeypatch.setattr(measuring, "run", pytest.fail)  # the journal has it all
    assert STUDY.figures(True, Place(jobs=1, journal=str(table)), print)["np.np_slowdown.one_dma"] == 1.5
    assert records.read(tmp_path / "p.json", "mpi-np").minutes == 12
    assert main(["paper", "mpi-np", *options]) == 0  # from the journal: who knows how long it took
    assert records.read(tmp_path / "p.json", "mpi-np").minutes == 0
    again = ["--from", str(tmp_path / "p.json"), "--output", str(tmp_path / "again")]
    assert main(["paper", "mpi-np", *again]) == 0
    text = (tmp_path / "docs" / "mpi-np.md").read_text()
    assert (tmp_path / "again" / "mpi-np.md").read_text() == text
    for name in ("p.json", "docs/mpi-np.json", "again/mpi-np.json"):
        assert STUDY.page(records.read(tmp_path / name, "mpi-np")) == text
    assert "](figures/mpi-np-fig4-6-slowdown.svg)" in text
    assert (tmp_path / "docs" / "figures" / "mpi-np-fig4-6-slowdown.svg").exists()


@pytest.mark.slow
def test_quick_run(tmp_path):
    assert main(["paper", "mpi-np", "--quick", "--json", str(tmp_path / "p.json"), "--output", str(tmp_path)]) == 0
    figures = json.loads((tmp_path / "p.json").read_text())["figures"]
    assert figures["paper.mpi-np.answered"] >= 45
