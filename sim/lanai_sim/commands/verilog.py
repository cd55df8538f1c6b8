"""Write the gateware as Verilog for other flows: a NIC, or a block of it, on its own ports or behind a standard bus,
with the file list, register map, page of ports and a bench."""

import argparse
from pathlib import Path
from typing import Any

from lanai_firmware import output_file
from lanai_hdl.wrap.files import BLOCKS, files, make
from lanai_hdl.wrap.tops import WRAPPERS
from lanai_host.errors import UserError

from ..machine import blocks
from ..machine.machine import block_from
from ..tables import read_toml
from ..units import counted

NAME = "verilog"
TABLES = ("nic", "switch", "remote")  # of a file of parameters
HELP = "write a NIC or a block of it as Verilog, behind AXI or Wishbone if wanted"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("block", metavar="BLOCK", help=f"one of {', '.join(BLOCKS)}")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="folder to write")
    parser.add_argument(
        "--config",
        metavar="FILE|NAME=VALUE",
        action="append",
        default=[],
        help="a parameter, such as sram_size=65536, or a TOML file of them; may be given again",
    )
    parser.add_argument(
        "--wrap",
        metavar="BUS",
        action="append",
        default=[],
        help=f"put the block behind a standard bus: {', '.join(WRAPPERS)}; may be given again",
    )
    parser.add_argument(
        "--with",
        metavar="BLOCK",
        action="append",
        default=[],
        dest="blocks",
        help=f"add an optional block to the NIC: {', '.join(blocks.names())}",
    )


def run(args: argparse.Namespace) -> int:
    if args.blocks and args.block != "nic":
        raise UserError(f"--with {args.blocks[0]!r} is for 'nic'; {args.block!r} has no optional blocks")
    block = make(
        args.block, _values(args.config, args.block), args.wrap, [block_from("--with", text) for text in args.blocks]
    )
    written = files(block)
    for name, text in written.items():
        path = Path(args.output, name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot make the folder {str(path.parent)!r}: {error.strerror}") from error
        output_file.write(path, text, "the file")
    lines = written[f"{block.name}.v"].count("\n")
    others = counted(len(written) - 1, "file")
    print(f"wrote {args.output}: {block.name}.v, {counted(lines, 'line')}, and {others} more")
    print(f"the ports: {Path(args.output, 'PORTS.md')}; its bench: make -C {Path(args.output, 'test')}")
    return 0


def _values(words: list[str], block: str) -> dict[str, Any]:
    """The parameters of the command line, in its order."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if equals:
            found[name] = value
        else:
            found |= _of_file(word, block)
    return found


def _of_file(path: str, block: str) -> dict[str, Any]:
    """The parameters in a file, at its top or in tables. A table of another block than `block` does not count."""
    document = read_toml("--config", path, "name a TOML file, or write NAME=VALUE")
    found: dict[str, Any] = {}
    for name, value in document.items():
        if name not in TABLES or not isinstance(value, dict):
            found[name] = value
        elif name in ("nic", block):
            found |= value
    return found
