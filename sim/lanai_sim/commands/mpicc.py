"""Compile and link an MPI program in C: every argument goes to the compiler. `-show` prints the command instead."""

import argparse
import shlex
import subprocess

from lanai_host.abi import wrappers

NAME = "mpicc"
HELP = "compile an MPI program in C"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.prefix_chars = "\0"  # options are the compiler's
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="what the compiler gets")


def run(args: argparse.Namespace) -> int:
    arguments = [argument for argument in args.arguments if argument != "-show"]
    command = wrappers.c(arguments)
    if "-show" in args.arguments:
        print(shlex.join(command))
        return 0
    return subprocess.run(command, check=False).returncode
