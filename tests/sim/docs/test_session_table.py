"""The table of figures of docs/first-session.md says what is on record: tests/figures/p2p.json, which its own
tests hold, and the record of the page on MPI-NP."""

import json
import re

import pytest

from lanai_sim.studies.papers import records, studies

from . import pages

ROWS = {
    "4 bytes one way": ["p2p.latency_us.4"],
    "64 bytes, buffers within a page / half in each of two": ["p2p.latency_us.64", "p2p.unaligned_latency_us.64"],
    "4,096 bytes, buffers that begin with a page / where malloc puts them": [
        "p2p.latency_us.4096",
        "p2p.unaligned_latency_us.4096",
    ],
    "peak bandwidth": ["p2p.bandwidth_MBps.1048576"],
    "host overhead of a 4-byte send": ["p2p.send_overhead_us.4"],
}


BY_POLICIES = {
    "4 bytes one way": "thesis.latency_us.4",
    "64 bytes, buffers within a page / half in each of two": "thesis.latency_us.64",
    "4,096 bytes, buffers that begin with a page / where malloc puts them": "thesis.latency_us.4096",
    "peak bandwidth": "version.second.bandwidth_MBps.peak",
    "host overhead of a 4-byte send": "thesis.send_overhead_us.4",
}
HEAD = "| | here | by the thesis's policies, in its order | thesis |\n|---|---|---|---|\n"


def table(column=2):
    """The rows of the page's table, by their first cell: the figures of another one."""
    _, _, rest = (pages.ROOT / "docs" / "first-session.md").read_text().partition(HEAD)
    assert rest, "the page has no table of figures"
    rows = [line.split("|") for line in rest.partition("\n\n")[0].splitlines()]
    return {row[1].strip(): re.findall(r"[\d,.]*\d", row[column]) for row in rows}


def test_every_row_has_figures_on_record():
    assert set(table()) == set(ROWS) == set(BY_POLICIES)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_shows_its_figures(row):
    figures = json.loads((pages.ROOT / "tests" / "figures" / "p2p.json").read_text())
    check(table()[row], [figures[name] for name in ROWS[row]])


@pytest.mark.parametrize("row", BY_POLICIES)
def test_a_row_shows_the_figures_of_the_thesiss_policies(row):
    study = studies.find("mpi-np")
    check(table(column=3)[row], [records.read(study.record, "mpi-np").figures[BY_POLICIES[row]]])


def check(shown, figures):
    decimals = [len(figure.partition(".")[2]) for figure in shown]
    assert shown == [f"{figure:.{places}f}" for figure, places in zip(figures, decimals, strict=True)]
