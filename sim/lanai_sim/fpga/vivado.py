"""From a board's Amaranth top to a project that Vivado takes, and what Yosys says of its area. Vivado is not needed."""

from pathlib import Path

from lanai_hdl.boards import Board

from .area import area_by_block, check_fit
from .bitstream import Built, board_top
from .tools import SYNTHESIS, TOOLS, check_tools, make_directory, read_json, run_tool

SCRIPT = "build_top.sh"  # runs Vivado on the project
AREA = """\
read_verilog top.v
synth_xilinx -family xc7 -flatten -top top
autoname
write_json top.json
"""


def project(board: Board, output: str | Path) -> Built:
    """Write Verilog, constraints, and the Tcl that builds a bitstream, into `output`. Return the area by block, as
    Yosys maps the same Verilog: Vivado's own is another."""
    check_tools()
    output = make_directory(output)
    board.platform().prepare(board.pins(board_top(board)), "top").extract(str(output))
    (output / "area.ys").write_text(AREA)
    run_tool([TOOLS["YOSYS"], "-q", "-l", "area.rpt", "area.ys"], output, SYNTHESIS)
    area = area_by_block(read_json(output / "top.json"), board.family)
    check_fit(board, area[0])
    return Built(area[0], area[1:])
