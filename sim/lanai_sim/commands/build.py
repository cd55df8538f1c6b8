"""Build a bitstream of the NIC, or of a switch, with tools that pip brings. Print its area and the
clock that it reaches."""

import argparse
from dataclasses import replace

from rich.table import Table

from lanai_hdl.boards import Board
from lanai_hdl.boards.board import LINES, SERIAL, XILINX7
from lanai_host.errors import UserError, unknown

from ..console import wide
from ..engines.boards import known
from ..figures import write_json
from ..fpga import vivado
from ..fpga.bitstream import SEEDS, Built, build, reaches, synthesize
from ..machine import blocks
from ..machine.machine import block_from

NAME = "build"
HELP = "build the NIC, or a switch, into an FPGA bitstream"
NIC, SWITCH = "nic", "switch"
SLOW = 13  # the exit code of a bitstream that does not reach its board's clock
NO_BITSTREAM = 14  # the exit code where a vendor's tool is to make it, from what has been written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="WHAT",
        nargs="?",
        default=NIC,
        help=f"{NIC}, or {SWITCH}, which joins the cables of several boards (default: {NIC})",
    )
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--board", metavar="NAME", help="the board to build for")
    target.add_argument("--list", action="store_true", help="show the boards and stop")
    parser.add_argument(
        "--output", metavar="DIR", default="build", help="folder for bitstream and reports (default: %(default)s)"
    )
    parser.add_argument(
        "--with",
        action="append",
        default=[],
        metavar="BLOCK[:NAME=VALUE,...]",
        dest="blocks",
        help=f"add an optional block to the NIC, e.g. remote:processes=1,match_cells=16: {', '.join(blocks.names())}",
    )
    parser.add_argument(
        "--phy",
        action="store_true",
        help="put the NIC's link on pins, behind a switch and a phy, for a cable to another board",
    )
    parser.add_argument(
        "--line",
        metavar="LINE",
        help=f"what joins the board to its host: {' or '.join(LINES)} (default: serial)",
    )
    parser.add_argument(
        "--ports", type=int, metavar="N", help="ports of a switch (default: as many as the board has pins for)"
    )
    parser.add_argument(
        "--mhz",
        type=float,
        metavar="F",
        help="the slot clock in MHz (default: the board's own, which place and route reaches)",
    )
    parser.add_argument(
        "--synthesis-only",
        action="store_true",
        help="stop before place and route: print the area by block, build no bitstream",
    )
    parser.add_argument("--seed", type=int, default=1, help="first seed of place and route (default: %(default)s)")
    parser.add_argument(
        "--seeds",
        type=int,
        default=SEEDS,
        metavar="N",
        help="try up to N seeds until one reaches the board's slot clock, else keep the fastest (default: %(default)s)",
    )
    parser.add_argument(
        "--allow-slow", action="store_true", help=f"end with code 0, not {SLOW}, where the slot clock is not reached"
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")


def run(args: argparse.Namespace) -> int:
    if args.list:
        for board in known.boards():
            print(f"{board.name:12} {board.description}")
        return 0
    board = _board(args)
    built = _built(board, args)
    _show(built)
    if args.json:
        config = {"board": board.name, "seed": args.seed, "seeds": args.seeds, "synthesis_only": args.synthesis_only}
        config |= {"blocks": args.blocks, "phy": board.phy, "line": board.line, "switch": board.switch}
        config |= {"slot_khz": board.config.slot_khz}
        write_json(args.json, built.figures(), config)
    if board.family == XILINX7:
        print(f"no bitstream: this is a project for Vivado, which makes it by `sh {vivado.SCRIPT}` in {args.output!r}")
        return 0 if args.synthesis_only else NO_BITSTREAM
    if built.lbus_fmax_mhz is None:
        return 0
    print(f"the slot clock reaches {built.lbus_fmax_mhz:.2f} of {board.config.slot_khz / 1000:.2f} MHz")
    return 0 if reaches(board, built.lbus_fmax_mhz) or args.allow_slow else SLOW


def _built(board: Board, args: argparse.Namespace) -> Built:
    """Run the tools of the board's family, as far as it is asked for."""
    if board.family == XILINX7:
        if (args.seed, args.seeds) != (1, SEEDS):
            raise UserError(f"--seed and --seeds are for nextpnr; {board.name!r} is built by Vivado, so leave them out")
        return vivado.project(board, args.output)
    return synthesize(board, args.output) if args.synthesis_only else build(board, args.output, args.seed, args.seeds)


def _board(args: argparse.Namespace) -> Board:
    """The board with what it is to be. Raises UserError for what cannot be together."""
    board = known.board(args.board)
    if args.what not in (NIC, SWITCH):
        raise unknown("design", args.what, (NIC, SWITCH))
    others = (
        {"--ports": args.ports is not None}
        if args.what == NIC
        else {"--with": bool(args.blocks), "--phy": args.phy, "--line": args.line is not None}
    )
    for option, given in others.items():
        if given:
            raise UserError(f"{option} is not for a {args.what}; leave it out")
    if args.mhz is not None:
        board = board.with_clock(args.mhz)
    if args.what == SWITCH:
        return board.as_switch(args.ports)
    board = board.with_blocks(block_from("--with", text) for text in args.blocks).with_line(
        SERIAL if args.line is None else args.line
    )
    return replace(board, phy=args.phy)


def _show(built: Built) -> None:
    console = wide()
    area = Table("block", "LUTs", "flip-flops", "block RAMs", "multipliers", "Fmax in MHz")
    for block in built.blocks:
        fmax = "" if block.fmax_mhz is None else f"{block.fmax_mhz:.1f}"
        area.add_row(block.name, *(str(n) for n in (block.luts, block.ffs, block.brams, block.multipliers)), fmax)
    console.print(area)
    for name, value in sorted(built.figures().items()):
        console.print(f"{name:28} {value:g}")
    for hop in built.critical_path:
        console.print(f"  {hop}")
    if built.bitstream is not None:
        console.print(f"bitstream: {built.bitstream}")
