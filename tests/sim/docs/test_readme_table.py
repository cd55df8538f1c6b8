"""README's table of figures says what is on record: tests/figures/p2p.json, which its own tests hold."""

import json

import pytest

from . import pages

ROWS = {
    "4 bytes one way": "p2p.latency_us.4",
    "4,096 bytes, buffers that begin with a page": "p2p.latency_us.4096",
    "host overhead of a 4-byte send": "p2p.send_overhead_us.4",
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_shows_its_figure(row):
    figures = json.loads((pages.ROOT / "tests" / "figures" / "p2p.json").read_text())
    (line,) = [line for line in (pages.ROOT / "README.md").read_text().splitlines() if line.startswith(f"| {row}")]
    shown = line.split("|")[2].split()[0]
    assert shown == f"{figures[ROWS[row]]:.2f}"
