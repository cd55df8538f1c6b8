"""Records of the papers' runs: the pages in docs are what they give, and the code gives them."""

from dataclasses import replace

import pytest

from lanai_host.errors import UserError
from lanai_sim.commands.paper import expected
from lanai_sim.studies import drawing
from lanai_sim.studies.papers import claims, page, records, studies
from lanai_sim.studies.papers.records import Part, Record

KEPT = [name for name in studies.names() if studies.find(name).record.is_file()]
# Short experiments of each paper, of which the record has at least ten cells.
CHEAP = {
    "t3d": ("latency", "alignment", "validation"),
    "ccu": ("bitonic",),
    "mbcf": ("primitives",),
    "mpi-np": ("slowdown", "transfers", "break-down"),
    "sci": ("raw",),
}
CELLS = 10


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


@pytest.mark.slow
@pytest.mark.parametrize("paper", [paper for paper in KEPT if paper in CHEAP])
def test_the_code_gives_the_record(paper):
    study, record = kept(paper)
    module = study.experiments.__name__
    found = {}
    for name in CHEAP[paper]:
        found |= claims.run(module, {}, {"experiment": name, "quick": record.quick})
    assert len(found) >= CELLS
    assert {name: record.figures[name] for name in found} == pytest.approx(found, rel=1e-3)


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
        "is of another full run, of commit `old` on 2026-11-25."
    )
    records.write(tmp_path / "r.json", "mbcf", found, [])
    assert records.read(tmp_path / "r.json", "mbcf") == found
    again = records.completed(replace(now, figures={"a": 1.6}, date="2026-11-27"), found, ["npb"])
    assert [(one.count, one.commit) for one in again.parts] == [(2, "old")]
    assert records.completed(now, before, []) == now
    part = Part(3, "abc", "2026-11-26", experiments=("colliding",))
    assert part.words == (
        "3 of its figures (experiment `colliding`) are of another full run, of commit `abc` on 2026-11-26."
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
