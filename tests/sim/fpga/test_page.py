"""The table of docs/reference/fpga.md is what the tools give. `--refresh-docs` rewrites it."""

import json
import re
from pathlib import Path

import pytest

from lanai_hdl.boards import find
from lanai_sim.cli import main
from lanai_sim.fpga.bitstream import build

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "fpga.md"
BOARD = "ulx3s-85f"
HEAD = "| block | LUT4 | flip-flops | block RAMs | MHz |\n|---|---|---|---|---|\n"
TOTAL = "all"


def rows():
    """The page's rows by block: LUT4, flip-flops, block RAMs, MHz, as text."""
    table = PAGE.read_text().partition(HEAD)[2].partition("\n\n")[0]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {row[0]: row[1:] for row in found}


def hold(request, measured):
    """The page's rows must be `measured`, or become so."""
    if request.config.getoption("--refresh-docs"):
        table = "".join(f"| {' | '.join([name, *cells])} |\n" for name, cells in measured.items())
        text = PAGE.read_text()
        before, _, after = text.partition(HEAD)
        rest = after.partition("\n\n")[2]
        PAGE.write_text(f"{before}{HEAD}{table}\n{rest}")
    assert rows() == measured


@pytest.mark.ci
def test_area(request, tmp_path, capsys):
    """Synthesis for the board, by the command."""
    figures = tmp_path / "figures.json"
    command = ["build", "--board", BOARD, "--synthesis-only", "--output", str(tmp_path), "--json", str(figures)]
    assert main(command) == 0
    area = json.loads(figures.read_text())["figures"]
    measured = {}
    for name, (luts, _, _, mhz) in rows().items():
        kinds = ("luts", "ffs", "brams")
        block = "build" if name == TOTAL else f"build.block.{name}"
        found = [f"{area.get(f'{block}.{kind}', 0):,.0f}" for kind in kinds]
        if name == TOTAL:  # beside what the FPGA has
            has = [re.search(r" of .*|$", cell)[0] for cell in (luts, *rows()[name][1:3])]
            found = [n + of for n, of in zip(found, has, strict=True)]
        measured[name] = [*found, mhz]
    hold(request, measured)
    assert f"{area['build.luts']:g}" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_clock(request, tmp_path):
    """Place and route with seed 1: the longest path into each block."""
    built = build(find(BOARD), tmp_path, seed=1, seeds=1)
    reached = {block.name: block.fmax_mhz for block in built.blocks} | {TOTAL: built.lbus_fmax_mhz}
    hold(request, {name: [*cells[:3], f"{reached[name]:.1f}"] for name, cells in rows().items()})
