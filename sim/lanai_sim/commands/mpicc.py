"""Compile and link an MPI program in C. Every argument goes to the compiler, but for a few: see
`lanai mpicc -help`."""

import argparse

from .. import mpi_wrapper
from ..mpi_wrapper import add_arguments

__all__ = ["HELP", "NAME", "add_arguments", "run"]

NAME = "mpicc"
HELP = "compile an MPI program in C"


def run(args: argparse.Namespace) -> int:
    return mpi_wrapper.run(NAME, args.arguments)
