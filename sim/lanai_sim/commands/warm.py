"""Build ahead what runs need: libmpi, firmware, models of NICs and fabrics, booted NICs. Flags are those of `lanai
run`, since other NICs, fabrics and numbers of ranks need other models."""

import argparse
import copy
import sys
import tempfile
import time
from pathlib import Path

from lanai_host.errors import UserError
from lanai_host.stacks import names, stack

from . import run as run_command
from .run.flags import FIRST as RUN_FIRST
from .run.flags import add_flags

NAME = "warm"
HELP = "build ahead what runs need, so that the first does not wait"
FIRST = tuple(flag for flag in RUN_FIRST if flag not in ("--device", "--max-sim-time", "--json"))
# A program that begins and ends, of any Python.
PROGRAM = "import ctypes; mpi = ctypes.CDLL('libmpi.so.12'); mpi.MPI_Init(None, None); mpi.MPI_Finalize()"
RANKS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser)
    parser.add_argument("devices", nargs="*", metavar="DEVICE", help=f"of {', '.join(names())} (default: all)")


def run(args: argparse.Namespace) -> int:
    chosen = args.devices or ([args.device] if args.device else [])
    for name in chosen:
        stack(name)
    failed = 0
    for name in chosen or names():
        try:
            failed = warm(name, args) or failed
        except UserError as error:
            if chosen:
                raise
            print(f"{name}: left out: {error}")  # flags need not fit all devices
    return failed


def warm(device: str, args: argparse.Namespace) -> int:
    """Run a program of nothing on one device; its exit code. Files that flags name are not written."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lanai-warm-") as folder:
        asked = copy.copy(args)
        asked.device, asked.ranks, asked.program = device, args.ranks or RANKS, [sys.executable, "-c", PROGRAM]
        for flag, name in (("trace", "run.trace"), ("wave", "run.vcd")):
            if getattr(args, flag) is not None:
                setattr(asked, flag, str(Path(folder, name)))
        result = run_command.config_of(asked).run()
    if result.code:
        print(f"{device}: failed: {result.report}")
    else:
        print(f"{device}: ready after {time.monotonic() - began:.1f} s", flush=True)
    return result.code
