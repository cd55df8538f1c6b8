"""The tables of docs/reference/fpga.md are what the tools give. `--refresh-docs` rewrites it."""

import json
import re
from pathlib import Path

import pytest

from lanai_hdl.boards import find
from lanai_hdl.remote.config import Remote
from lanai_host.stacks.lanai2.stack import CELLS
from lanai_sim.cli import main
from lanai_sim.fpga.bitstream import build, reaches

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "fpga.md"
BOARD = "ulx3s-85f"
HEAD = "| block | LUT4 | flip-flops | block RAMs | MHz |\n|---|---|---|---|---|\n"
WITH_ADAPTER = "| with the adapter | LUT4 | flip-flops | block RAMs |\n|---|---|---|---|\n"
WITH_MATCHING = "| with matching | LUT4 | flip-flops | block RAMs | MHz |\n|---|---|---|---|---|\n"
TOTAL = "all"
SEED_1 = "`router1`, as `lanai build` uses, seed 1"  # the row of the clock with the adapter
KINDS = ("luts", "ffs", "brams")


def rows(head=HEAD):
    """The page's rows below `head` by block: LUT4, flip-flops, block RAMs, and MHz if it has them, as
    text."""
    table = PAGE.read_text().partition(head)[2].partition("\n\n")[0]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {row[0]: row[1:] for row in found}


def hold(request, measured, head=HEAD):
    """The page's rows below `head` must be `measured`, or become so."""
    if request.config.getoption("--refresh-docs"):
        table = "".join(f"| {' | '.join([name, *cells])} |\n" for name, cells in measured.items())
        text = PAGE.read_text()
        before, _, after = text.partition(head)
        rest = after.partition("\n\n")[2]
        PAGE.write_text(f"{before}{head}{table}\n{rest}")
    assert rows(head) == measured


def cells(area, block):
    """Return the cells of one block, as on the page."""
    name = "build" if block == TOTAL else f"build.block.{block}"
    return [f"{area.get(f'{name}.{kind}', 0):,.0f}" for kind in KINDS]


@pytest.mark.ci
def test_area(request, tmp_path, capsys):
    """Synthesis for the board, by the command."""
    figures = tmp_path / "figures.json"
    command = ["build", "--board", BOARD, "--synthesis-only", "--output", str(tmp_path), "--json", str(figures)]
    assert main(command) == 0
    area = json.loads(figures.read_text())["figures"]
    measured = {}
    for name, (luts, _, _, mhz) in rows().items():
        found = cells(area, name)
        if name == TOTAL:  # beside what the FPGA has
            has = [re.search(r" of .*|$", cell)[0] for cell in (luts, *rows()[name][1:3])]
            found = [n + of for n, of in zip(found, has, strict=True)]
        measured[name] = [*found, mhz]
    hold(request, measured)
    assert f"{area['build.luts']:g}" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_area_with_the_adapter(request, tmp_path):
    """Synthesis of the NIC with the remote-memory adapter, by the command."""
    figures = tmp_path / "figures.json"
    command = ["build", "--board", BOARD, "--with", "remote", "--synthesis-only", "--output", str(tmp_path)]
    assert main([*command, "--json", str(figures)]) == 0
    area = json.loads(figures.read_text())["figures"]
    hold(request, {name: cells(area, name) for name in rows(WITH_ADAPTER)}, WITH_ADAPTER)
    assert area["build.luts"] <= 20_000


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_clock(request, tmp_path):
    """Place and route with seed 1: the longest path into each block."""
    built = build(find(BOARD), tmp_path, seed=1, seeds=1)
    reached = {block.name: block.fmax_mhz for block in built.blocks} | {TOTAL: built.lbus_fmax_mhz}
    hold(request, {name: [*row[:3], f"{reached[name]:.1f}"] for name, row in rows().items()})


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_clock_with_the_adapter(tmp_path):
    """The same with the adapter: what the page says of its clock."""
    built = build(find(BOARD).with_blocks([Remote()]), tmp_path, seed=1, seeds=1)
    assert f"| {SEED_1} | {built.lbus_fmax_mhz:.1f} MHz |" in PAGE.read_text()
    assert reaches(find(BOARD), built.lbus_fmax_mhz)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_area_and_clock_with_matching(request, tmp_path):
    """The same with the adapter that `lanai2` takes."""
    built = build(find(BOARD).with_blocks([Remote(processes=1, match_cells=CELLS)]), tmp_path, seed=1, seeds=1)
    reached = {block.name: block.fmax_mhz for block in built.blocks} | {TOTAL: built.lbus_fmax_mhz}
    measured = {name: [*cells(built.figures(), name), f"{reached[name]:.1f}"] for name in rows(WITH_MATCHING)}
    hold(request, measured, WITH_MATCHING)
