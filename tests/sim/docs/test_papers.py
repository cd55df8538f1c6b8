"""README and the reference pages quote the papers' studies as the records have them."""

import re

import pytest

from lanai_sim.studies.papers import records, studies

from . import pages

# Page, the words around the numbers, the paper, and the numbers' figures.
QUOTED = [
    (
        "docs/reference/sci.md",
        r"computes for 10 ms \| ([\d.]+) us \|",
        "sci",
        ["busy.shared.computes_us"],
    ),
    ("docs/reference/sci.md", r"private memory \| ([\d.]+) us \|", "sci", ["busy.registered.computes_us"]),
    ("docs/reference/sci.md", r"Jain's index of their bandwidths \| ([\d.]+) \|", "sci", ["both_ways.jain"]),
    ("docs/reference/sci.md", r"both ways, twice \| ([\d.]+) ms \|", "sci", ["cable.whole.time_ms"]),
    ("docs/reference/sci.md", r"no byte is wrong \| ([\d.]+) ms \|", "sci", ["cable.pulled.time_ms"]),
    (
        "docs/reference/sci.md",
        r"emulated private ones \| ([\d.]+), ([\d.]+), ([\d.]+) MiB/s",
        "sci",
        [f"theirs.sparse.put.{kind}.least.65536" for kind in ("shared", "registered", "emulated")],
    ),
    (
        "docs/reference/t3d.md",
        r"Of ([\d,]+) messages of 4\s+ranks.*?fences (\d+) of (\d+) did",
        "t3d",
        ["t3e.fenced.messages", "t3e.bare.wrong", "t3e.bare.messages"],
    ),
    ("docs/reference/t3d.md", r"takes ([\d,]+) us, and no byte is wrong", "t3d", ["torus.us"]),
]


@pytest.mark.parametrize(("page", "words", "paper", "figures"), QUOTED)
def test_quoted_numbers_are_those_of_the_record(page, words, paper, figures):
    text = (pages.ROOT / page).read_text()
    found = re.search(words, text, re.DOTALL)
    assert found, f"{page} has not {words}"
    record = records.read(studies.find(paper).record, paper)
    shown = [number.replace(",", "") for number in found.groups()]
    decimals = [len(number.partition(".")[2]) for number in shown]
    assert shown == [f"{record.figures[name]:.{places}f}" for name, places in zip(figures, decimals, strict=True)]
