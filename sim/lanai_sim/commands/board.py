"""A board on this desk: the wires of its cable, its bitstream, what it says of itself, its self-test."""

import argparse
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from lanai_hdl.boards.board import LINES, SERIAL, Cable
from lanai_host.bus.base import BusError
from lanai_host.bus.serial import SerialBus, SerialLine, SerialPort
from lanai_host.errors import UserError

from ..console import wide
from ..engines.boards import known
from ..engines.kinds.board import USUAL
from ..fpga.attached import look, selftest
from ..report.tables import table

NAME = "board"
HELP = "a board on this desk: load it, ask it, test it"
FAILED = 1
SIMULATED = "simulated"
BITSTREAM = "top.bit"  # as `lanai build` calls it


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (text, _) in ACTIONS.items():
        action = actions.add_parser(name, help=text, description=text)
        if name == "load":
            action.add_argument("file", metavar="FILE", help=f"the bitstream, or the directory that has {BITSTREAM}")
        elif name != "pins":
            port = f"the board's serial port, for example /dev/ttyUSB0, or {SIMULATED!r}: its bitstream in simulation"
            action.add_argument("port", metavar="PORT", help=port)
            action.add_argument("--baud", type=int, metavar="N", help="bits a second (default: as the board is built)")
            line = f"what joins a simulated one to its host: {' or '.join(LINES)} (default: serial)"
            action.add_argument("--line", metavar="LINE", help=line)
        action.add_argument("--board", metavar="NAME", default=USUAL, help="the board (default: %(default)s)")


def pins(args: argparse.Namespace) -> int:
    board = known.board(args.board)
    if board.cable is None:
        raise UserError(f"the board {board.name!r} does not say where its cable goes (`cable` of `Board`)")
    _show(f"{board.name}: {board.cable.connector}", board.cable)
    print("A cable has these wires twice, once each way, and joins the grounds. The boards must have a common ground")
    print("before the other wires are put on, and pins of the same voltage.")
    if board.ports:
        print("A switch (`lanai build switch`) has a cable's pins at each port:")
    for port, cable in enumerate(board.ports):
        _show(f"{board.name} as a switch, port {port}: {cable.connector}", cable)
    if board.fifo:
        print("With `lanai build --line ft245` a USB chip's FIFO goes to:")
        grid = table(f"{board.name}: FIFO", ["signal", "at"], left=2)
        for signal, pin in board.fifo:
            grid.add_row(signal, pin)
        wide().print(grid)
    return 0


def _show(title: str, cable: Cable) -> None:
    grid = table(title, ["signal", "leaves a board at", "comes in at"], left=3)
    for signal, leaves, comes in zip(cable.signals, cable.out, cable.into, strict=True):
        grid.add_row(signal, leaves, comes)
    wide().print(grid)


def load(args: argparse.Namespace) -> int:
    board, file = known.board(args.board), Path(args.file)
    if file.is_dir():
        file = file / BITSTREAM
    if not file.is_file():
        raise UserError(f"{str(file)!r} is no file; `lanai build --board {board.name} --output DIR` writes {BITSTREAM}")
    if not board.loader:
        raise UserError(f"the board {board.name!r} does not say what loads it (`loader` of `Board`)")
    if board.part.encode() not in file.read_bytes()[:4096]:
        raise UserError(
            f"{str(file)!r} is no bitstream for {board.part}, the FPGA of {board.name}; --board names others"
        )
    if shutil.which(board.loader[0]) is None:
        raise UserError(f"{board.loader[0]} is not on PATH; install it, or load {file} with a tool of your own")
    return subprocess.run([*board.loader, str(file)], check=False).returncode


def info(args: argparse.Namespace) -> int:
    board = known.board(args.board)
    with closing(_line(args)) as line:
        seen = look(SerialBus(line))
    for name, value in (seen.words | seen.counters).items():
        print(f"{name:20} {value}" if name != "ID" else f"{name:20} {value:#x}")
    print(
        f"the processor {'runs' if seen.runs else 'is held in reset'}; the link is {'up' if seen.link_up else 'down'}"
    )
    for trouble in seen.phy.troubles() if seen.phy else ():
        print(f"  {trouble}")
    print(f"a read takes {1e6 * seen.round_trip:.0f} us")
    others = seen.others(board)
    for other in others:
        print(f"lanai: note: {other}")
    if not others:
        print(f"this is the NIC that `lanai build --board {board.name}` builds")
    return 0


def test(args: argparse.Namespace) -> int:
    board = known.board(args.board)
    with closing(_line(args)) as line:
        found = selftest(SerialBus(line), board)
    print("\n".join(found.lines()))
    return 0 if found.passed else FAILED


def _line(args: argparse.Namespace) -> SerialLine:
    if args.port == SIMULATED:
        return _simulated(args)
    if args.line is not None:
        raise UserError(f"--line {args.line!r} is for {SIMULATED!r}; {args.port} has the line that it has")
    baud = known.board(args.board).baud if args.baud is None else args.baud
    if baud < 1:
        raise UserError(f"--baud {baud} is no rate; write bits a second, for example {known.board(args.board).baud}")
    return SerialPort(args.port, baud)


def _simulated(args: argparse.Namespace) -> SerialLine:
    """The board's own bitstream in simulation, with the self-test in it."""
    from ..fpga.board_rtl import VerilatedBoard

    board = known.board(args.board).with_line(SERIAL if args.line is None else args.line)
    return VerilatedBoard(board if args.baud is None else replace(board, baud=args.baud))


ACTIONS: dict[str, tuple[str, Callable[[argparse.Namespace], int]]] = {
    "pins": ("show the wires of the cable between two boards", pins),
    "load": ("put a bitstream on a board, by the board's own tool", load),
    "info": ("show what a board says of itself; changes nothing", info),
    "selftest": ("reset a board's NIC and test line, SRAM, link, host DMA", test),
}


def run(args: argparse.Namespace) -> int:
    try:
        return ACTIONS[args.action][1](args)
    except (BusError, ValueError) as error:  # nothing came, or what is no frame
        raise UserError(f"{args.port}: {error}; `lanai board load` puts a NIC on a board") from error
