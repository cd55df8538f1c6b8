"""The MPI symbols that a binary imports, and those of them that this library has not: for `lanai doctor
PROGRAM`."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import UserError
from . import bindings
from .flavor import INTERFACE, MPICH, STANDARD, Flavor
from .library import library_directory
from .programs import check_program, dynamic_names

_C = re.compile(r"Q?P?MPI[XIR]?_\w+")
_FORTRAN = re.compile(r"p?mpix?_\w+?_{1,2}")
_CXX = re.compile(r"_ZT?[A-Z]*N?K?3MPI\w+")  # of the namespace MPI
# Libraries of the distribution that stand between a program and this one, and what brings them.
_BETWEEN = {
    _FORTRAN: (bindings.FORTRAN, "MPICH's Fortran bindings are not installed: apt install libmpich12"),
    _CXX: (bindings.CXX, "MPICH's C++ bindings are not installed: apt install libmpich12"),
}
_BOUND = (
    "import ctypes, json, sys; ctypes.CDLL(sys.argv[1]).MPI_Get_version(ctypes.byref(ctypes.c_int()),"
    " ctypes.byref(ctypes.c_int())); from lanai_host.abi import binding;"
    " print(json.dumps([name for name in json.loads(sys.argv[2]) if binding.find(name) is None]))"
)
NO_SYMBOL = "this library has no such symbol"
UNSUPPORTED = "answers MPI_ERR_UNSUPPORTED_OPERATION"


class Missing(NamedTuple):
    """A symbol that a binary imports in vain. `binary` is the program or a library that it
    needs."""

    binary: str
    symbol: str
    why: str


class Imports(NamedTuple):
    """The MPI symbols that a program needs: how many, through which ABI, and those that are missing."""

    flavor: Flavor
    symbols: int
    missing: list[Missing]


def imports(path: Path) -> Imports:
    """Return the MPI symbols that a program or a shared library needs. Raises UserError for a file that cannot be run
    here.
    """
    if not dynamic_names(path):
        raise UserError(
            f"{str(path)!r} is not a dynamically linked ELF file; name a compiled program or a shared library"
        )
    check_program(path)
    flavor = STANDARD if STANDARD.soname in dynamic_names(path).get("DT_NEEDED", []) else MPICH
    ours = _exported(library_directory(flavor.name) / flavor.soname)
    wanted = [(binary, symbol) for binary in _with_libraries(path) for symbol in sorted(_undefined(binary))]
    wanted = [(binary, symbol) for binary, symbol in wanted if _kind(symbol) is not None]
    unbound = _unbound(flavor) if wanted else set()
    missing = []
    for binary, symbol in wanted:
        why = _why(symbol, ours, unbound)
        if why:
            missing.append(Missing(str(binary), symbol, why))
    return Imports(flavor, len({symbol for _, symbol in wanted}), missing)


def _why(symbol: str, ours: set[str], unbound: set[str]) -> str:
    """Return why a symbol is missing; empty if it is not."""
    kind = _kind(symbol)
    if kind in _BETWEEN:
        names, remedy = _BETWEEN[kind]
        library = bindings.find_bindings(names)
        if library is None:
            return remedy
        return "" if symbol in _exported(library) else f"{library} has no such symbol"
    if symbol not in ours:
        return NO_SYMBOL
    return UNSUPPORTED if re.sub("^P(?=MPI)", "", symbol) in unbound else ""


def _kind(symbol: str) -> re.Pattern[str] | None:
    return next((kind for kind in (_C, _FORTRAN, _CXX) if kind.fullmatch(symbol)), None)


def _unbound(flavor: Flavor) -> set[str]:
    """The functions that this library has by name only."""
    directory = library_directory(flavor.name)
    functions = json.loads((directory / INTERFACE).read_text())["functions"]
    command = [sys.executable, "-c", _BOUND, str(directory / flavor.soname), json.dumps(list(functions))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


# Files


def _with_libraries(path: Path) -> Iterator[Path]:
    """A binary and the libraries that it needs, but for MPI's own."""
    pending, seen = [path], set()
    while pending:
        binary = pending.pop(0)
        if binary.resolve() in seen:
            continue
        seen.add(binary.resolve())
        yield binary
        names = dynamic_names(binary)
        origin = str(binary.resolve().parent)
        texts = [*names.get("DT_RPATH", []), *names.get("DT_RUNPATH", [])]
        where = [place.replace("$ORIGIN", origin) for text in texts for place in text.split(os.pathsep)]
        for name in names.get("DT_NEEDED", []):
            found = None if name.startswith("libmpi") else bindings.find_library(name, where)
            if found is not None:
                pending.append(found)


def _undefined(path: Path) -> set[str]:
    return {name for name, defined in _symbols(path) if not defined}


def _exported(path: Path) -> set[str]:
    return {name for name, defined in _symbols(path) if defined}


def _symbols(path: Path) -> list[tuple[str, bool]]:
    """The dynamic symbols of an ELF file, each with whether it defines it."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    with path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynsym")
        if not isinstance(section, SymbolTableSection):
            return []
        return [(symbol.name, symbol["st_shndx"] != "SHN_UNDEF") for symbol in section.iter_symbols() if symbol.name]
