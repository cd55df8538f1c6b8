"""Sections of a paper's page: tables as the paper prints them."""

from dataclasses import replace

import pytest

from lanai_sim.studies.drawing import Plot
from lanai_sim.studies.papers import page, studies
from lanai_sim.studies.papers.claims import Claim, Kind, load
from lanai_sim.studies.papers.page import Grid, Section, number, written
from lanai_sim.studies.papers.records import Record
from lanai_sim.studies.papers.t3d.study import STUDY
from lanai_sim.studies.papers.verdicts import Answer


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
