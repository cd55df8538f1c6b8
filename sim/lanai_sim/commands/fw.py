"""Firmware: build an image, run it in one of four ways, disassemble it, show its sizes."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from rich.table import Table

from lanai_firmware.compiler import build
from lanai_firmware.disasm import disassemble
from lanai_firmware.image import MAGIC, Image
from lanai_firmware.programs import firmware, names
from lanai_hdl.config import NicConfig
from lanai_host.errors import UserError, unknown

from ..command_line import count
from ..console import plain
from ..corebench.firmware_ways import WAYS, FedNic, read_packets, run_on
from ..figures import write_json
from ..machine.machine import nic_from
from ..machine.presets import PRESETS
from ..tables import read_toml
from ..units import counted

NAME = "fw"
HELP = "firmware: build, run, disasm, size"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (help_text, _) in ACTIONS.items():
        action = actions.add_parser(name, help=help_text, description=help_text)
        what = "a Python file with a @firmware function main()"
        if name != "run":
            what += f", an image, or a program of this project: {', '.join(names())}"
        action.add_argument("file", metavar="FILE", help=what)
        action.add_argument(
            "--nic",
            metavar="NIC",
            default="lanai41",
            help=f"preset of the NIC: {', '.join(sorted(PRESETS))}; or FILE.toml with its parameters, as --config of "
            "`lanai run` has them (default: %(default)s)",
        )
        if name == "build":
            action.add_argument("-o", "--output", metavar="IMAGE", help="file to write (default: FILE with .image)")
        if name == "run":
            action.add_argument(
                "--on",
                choices=list(WAYS),
                default="iss",
                help="what runs it: Python, native code, the golden model or the gateware (default: %(default)s)",
            )
            action.add_argument(
                "--cycles", type=count, default=50_000_000, help="give up after this many cycles (iss, rtl)"
            )
            action.add_argument(
                "--packets",
                metavar="FILE",
                help="run on a whole NIC that gets these packets: hexadecimal, one a line, ! for a bad CRC (not rtl)",
            )
            action.add_argument("--timeout", metavar="SECONDS", type=count, help="give up after this much real time")
        if name in ("run", "size"):
            action.add_argument("--json", metavar="FILE", help="write the figures to FILE")


def nic_of(name: str) -> NicConfig:
    """Return the NIC of a preset, or of the table `nic` of a configuration file."""
    if not name.endswith(".toml"):
        if name not in PRESETS:
            raise unknown("--nic", name, PRESETS)
        return nic_from({"preset": name})
    document = read_toml("--nic", name, "name a preset, or a file with a table [nic]")
    if "nic" not in document:
        raise UserError(f"--nic {name!r} has no table [nic]; write, for example: nic = {{sram_size = 65536}}")
    return nic_from(document["nic"])


def image_of(args: argparse.Namespace) -> Image:
    """The image that FILE is, or that it makes."""
    config = nic_of(args.nic)
    if args.file in names() and not Path(args.file).exists():
        return firmware(args.file).image(config)
    try:
        with open(args.file, "rb") as file:
            ready = file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise UserError(f"cannot read {args.file!r}: {error.strerror}; name a firmware file or an image") from error
    return Image.load(args.file) if ready else build(args.file, config)


def build_image(args: argparse.Namespace) -> int:
    output = args.output or str(Path(args.file).with_suffix(".image"))
    image = image_of(args)
    image.save(output)
    print(f"{output}: {len(image.loaded)} bytes of code and data, {image.zeroed_size} zeroed, for {args.nic}")
    return 0


def run_firmware(args: argparse.Namespace) -> int:
    if args.timeout is not None:
        return _run_within(args)
    config = nic_of(args.nic)
    nic = None if args.packets is None else FedNic(read_packets(args.packets), config)
    outcome = run_on(args.on, args.file, config, args.cycles, nic)
    figures: dict[str, float] = {} if outcome.result is None else {"fw.run.result": outcome.result}
    if nic is not None:
        for packet in nic.wire:
            print(f"sent {packet.route:08x}: {packet.data.hex(' ', 4)}")
        print(f"{counted(nic.came, 'packet')} came, {len(nic.coming)} did not, {len(nic.wire)} left")
        figures |= {"fw.run.came": nic.came, "fw.run.left": len(nic.wire)}
    ended = "main() ended" if outcome.result is None else f"main() = {outcome.result}"
    print("main() waits, and nothing can happen any more" if outcome.idle else ended)
    if outcome.cycles is not None and outcome.instructions is not None:
        print(f"{counted(outcome.cycles, 'cycle')}, {counted(outcome.instructions, 'instruction')}")
        figures |= {"fw.run.cycles": outcome.cycles, "fw.run.instructions": outcome.instructions}
    if args.json:
        write_json(args.json, figures, {"file": args.file, "on": args.on, "nic": args.nic})
    return 0


def _run_within(args: argparse.Namespace) -> int:
    """Run the same in a process of its own, which no loop of the firmware keeps from being ended."""
    command = [sys.executable, "-m", "lanai_sim", "fw", "run", f"--on={args.on}", f"--nic={args.nic}"]
    files = {name: getattr(args, name) for name in ("packets", "json")}
    command += [f"--cycles={args.cycles}", *(f"--{name}={path}" for name, path in files.items() if path)]
    with subprocess.Popen([*command, "--", args.file], start_new_session=True) as process:
        try:
            return process.wait(args.timeout)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                late = f"main has not ended after {args.timeout} s on {args.on}; give more with --timeout"
                raise UserError(late) from None
            raise


def disassemble_image(args: argparse.Namespace) -> int:
    """Every function with its source lines between the instructions."""
    image = image_of(args)
    names = {symbol.address: symbol.name for symbol in image.symbols.values()}
    end = image.base + image.regions["stub"] + image.regions["text"]
    shown = None
    for address in range(image.base, min(end + 7, image.base + len(image.loaded)) & -4, 4):
        if address in names:
            print(f"\n{names[address]}:")
        place = image.where(address)
        if place.file and place != shown:
            print(f"  ; {place}")
            shown = place
        word = int.from_bytes(image.loaded[address - image.base :][:4], "big")
        print(f"  {address:05x}  {word:08x}  {disassemble(word, names.get)}")
    return 0


def tell_sizes(args: argparse.Namespace) -> int:
    image = image_of(args)
    table = Table("what", "bytes", title=f"{image.entry}, SRAM {image.sram_size}")
    stack = image.stack_top - image.stack_bottom
    figures: dict[str, float] = {f"fw.size.{name}": size for name, size in image.regions.items()}
    figures |= {"fw.size.stack": stack, "fw.size.free": image.stack_bottom - image.free}
    for name, size in figures.items():
        table.add_row(name.split(".")[-1], str(size))
    for symbol in sorted(image.symbols.values(), key=lambda symbol: -symbol.size):
        table.add_row(f"  {symbol.name}", str(symbol.size))
    plain().print(table)
    if args.json:
        write_json(args.json, figures, {"file": args.file, "nic": args.nic})
    return 0


ACTIONS: dict[str, tuple[str, Callable[[argparse.Namespace], int]]] = {
    "build": ("compile FILE to an image", build_image),
    "run": ("run FILE's main() and print what it returns", run_firmware),
    "disasm": ("the image's instructions, with source lines", disassemble_image),
    "size": ("where the bytes go", tell_sizes),
}


def run(args: argparse.Namespace) -> int:
    return ACTIONS[args.action][1](args)
