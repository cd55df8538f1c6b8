"""Compile and link an MPI program in C: every argument goes to the compiler. `-show` prints the command instead."""

import argparse
import shlex
import subprocess
from collections.abc import Callable

from lanai_host.abi import wrappers

NAME = "mpicc"
HELP = "compile an MPI program in C"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.prefix_chars = "\0"  # options are the compiler's
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="what the compiler gets")


def run(args: argparse.Namespace) -> int:
    return compile_with(wrappers.c, args.arguments)


def compile_with(wrapper: Callable[[list[str]], list[str]], arguments: list[str]) -> int:
    """Run the command that a wrapper makes of the arguments, or show it; the compiler's exit code."""
    command = wrapper([argument for argument in arguments if argument != "-show"])
    if "-show" in arguments:
        print(shlex.join(command))
        return 0
    return subprocess.run(command, check=False).returncode
