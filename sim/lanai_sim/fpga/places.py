"""The block RAMs of the SRAM stand near one another, at sites that are chosen here.

nextpnr's placer is fast with logic and careless with block RAMs: with another seed it spreads the
SRAM over another two or three rows of them, from one edge of the die to the other. Every bit of the
SRAM's address goes to all of its block RAMs, after all logic of the slot. So the farthest of them
decides the clock.
"""

import re
from typing import Any

# Of an ECP5-85: rows of block RAMs, and columns, four sites in each nine or eleven.
ROWS = (22, 46, 70, 82)
COLUMNS = (4, 13, 22, 31, 40, 49, 58, 69, 78, 87, 96, 105, 114)
GROUP = (0, 2, 4, 6)  # columns from the first of four
SITES = {"LFE5U-85F": tuple((column + more, row) for row in ROWS for column in COLUMNS for more in GROUP)}
MIDDLE = (63, 64)  # column and row
SRAM = re.compile(r"top\.nic\.sram\.bank_(?P<bank>\d+)\.\d+\.(?P<bit>\d+)$")
BLOCK_RAM = "DP16KD"


def place(netlist: dict[str, Any], device: str) -> dict[str, str]:
    """Say in Yosys's netlist of a board's design where the SRAM's block RAMs stand, and give the
    site of each by the cell's name. A device whose sites are not known is left to the placer.

    The sites nearest to `MIDDLE` are taken. Nearest of all stand the bytes' signs, the last bits to
    reach an operand of the processor. What a byte's choice joins stands together: the same bit of
    each byte, of all banks.
    """
    cells = netlist["modules"]["top"]["cells"]
    found = {name: cell for name, cell in cells.items() if cell["type"] == BLOCK_RAM and SRAM.match(name)}
    free = sorted(SITES.get(device, ()), key=_distance)
    if len(free) < len(found):
        return {}
    chosen = {
        name: f"X{column}/Y{row}/EBR{GROUP.index(_offset(column))}"
        for name, (column, row) in zip(sorted(found, key=_rank), free, strict=False)
    }
    for name, site in chosen.items():
        found[name]["attributes"]["BEL"] = site
    return chosen


def _distance(site: tuple[int, int]) -> tuple[float, tuple[int, int]]:
    """A block RAM is wider than a column. Of sites equally far the first."""
    column, row = site
    return abs(column + 0.5 - MIDDLE[0]) + abs(row - MIDDLE[1]), site


def _offset(column: int) -> int:
    return column - max(first for first in COLUMNS if first <= column)


def _rank(name: str) -> tuple[int, int, int]:
    match = SRAM.match(name)
    assert match is not None
    bank, bit = int(match["bank"]), int(match["bit"])
    return -(bit % 8), bit // 8, bank
