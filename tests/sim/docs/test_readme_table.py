"""README's table of figures says what is on record: tests/figures/p2p.json, which its own tests
hold."""

import json
import re

import pytest

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


def table():
    """The rows of README's table, by their first cell: the figures of the second."""
    head, _, rest = (pages.ROOT / "README.md").read_text().partition("| | here | thesis |\n|---|---|---|\n")
    assert head, "README has no table of figures"
    rows = [line.split("|") for line in rest.partition("\n\n")[0].splitlines()]
    return {name.strip(): re.findall(r"[\d,.]*\d", here) for _, name, here, *_ in rows}


def test_every_row_has_figures_on_record():
    assert set(table()) == set(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_shows_its_figures(row):
    figures = json.loads((pages.ROOT / "tests" / "figures" / "p2p.json").read_text())
    shown = table()[row]
    decimals = [len(figure.partition(".")[2]) for figure in shown]
    assert shown == [f"{figures[name]:.{places}f}" for name, places in zip(ROWS[row], decimals, strict=True)]
