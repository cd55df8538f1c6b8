"""Compile and link an MPI program in Fortran: every argument goes to the compiler. `-show` prints the command instead."""

import argparse

from lanai_host.abi import wrappers

from .mpicc import add_arguments, compile_with

__all__ = ["HELP", "NAME", "add_arguments", "run"]

NAME = "mpifort"
HELP = "compile an MPI program in Fortran"


def run(args: argparse.Namespace) -> int:
    return compile_with(wrappers.fortran, args.arguments)
