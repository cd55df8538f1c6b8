"""Command lines that compile MPI programs: the compiler that is there, mpi.h, and this library."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from . import compiler
from .flavor import MPICH, STANDARD, Flavor
from .header import include_directory
from .library import library_directory, shared_libpython

# Where distributions keep MPICH's Fortran bindings, which work over any library with MPICH's ABI.
_LIBRARIES = ("/usr/lib/*-linux-gnu", "/usr/lib64/mpich/lib", "/usr/lib64", "/usr/lib")
_MODULES = (
    "/usr/include/*-linux-gnu/mpich",
    "/usr/lib/*-linux-gnu/fortran/gfortran-mod-*/mpich",
    "/usr/include/mpich-*",
    "/usr/include/mpich",
)


STANDARD_ABI = "-mpi-abi"  # as MPICH's mpicc spells it


def c(arguments: Sequence[str]) -> list[str]:
    """The C compiler's command line for `lanai mpicc`. With `-mpi-abi` the program is one of the standard ABI."""
    if not shared_libpython():
        raise UserError(
            f"{sys.executable} has no shared libpython, which C programs need to run the MPI library; "
            "use a Python that was built with --enable-shared"
        )
    flavor = STANDARD if STANDARD_ABI in arguments else MPICH
    own = [argument for argument in arguments if argument != STANDARD_ABI]
    define = ["-DMPI_ABI"] if flavor is STANDARD else []
    return [*compiler.command(), *define, "-I", str(include_directory()), *own, *_link(flavor)]


def _link(flavor: Flavor = MPICH) -> list[str]:
    directory = str(library_directory(flavor.name))
    library = flavor.links[0].removeprefix("lib").removesuffix(".so")
    return ["-L", directory, f"-Wl,-rpath,{directory}", "-Wl,--enable-new-dtags", f"-l{library}"]


def fortran(arguments: Sequence[str]) -> list[str]:
    """The Fortran compiler's command line for `lanai mpifort`."""
    found = next((name for name in ("gfortran", "flang") if shutil.which(name)), None)
    if found is None:
        raise UserError(
            "no Fortran compiler (gfortran, flang) was found; install one, for example: apt install gfortran"
        )
    bindings = next((path for pattern in _LIBRARIES for path in _glob(f"{pattern}/libmpichfort.so*")), None)
    if bindings is None:
        raise UserError(
            "libmpichfort.so was not found; MPI from Fortran needs the distribution's bindings of MPICH, for example: "
            "apt install libmpich-dev"
        )
    modules = [path for pattern in _MODULES for path in _glob(pattern)]
    includes = [argument for path in modules for argument in ("-I", str(path))]
    return [found, *includes, *arguments, str(bindings), *_link()]


def _glob(pattern: str) -> list[Path]:
    return sorted(Path("/").glob(pattern.removeprefix("/")))
