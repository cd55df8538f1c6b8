"""Compile and link an MPI program in Fortran. Every argument goes to the compiler, but for a few:
see `lanai mpifort -help`."""

import argparse

from .. import mpi_wrapper
from ..mpi_wrapper import add_arguments

__all__ = ["HELP", "NAME", "add_arguments", "run"]

NAME = "mpifort"
HELP = "compile an MPI program in Fortran"


def run(args: argparse.Namespace) -> int:
    return mpi_wrapper.run(NAME, args.arguments)
