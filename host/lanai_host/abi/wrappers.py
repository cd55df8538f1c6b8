"""Command lines that compile MPI programs, as MPICH's wrappers make them: the compiler that is
there, mpi.h, and this library."""

import platform
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from lanai_firmware.cache import file, key_of

from ..compilers import Compiler, Language, find
from ..errors import UserError
from .flavor import MPICH, STANDARD, Flavor
from .installed import include_directory, shared_libpython
from .library import library_directory

COUNT = "-fsanitize-coverage=trace-pc"  # the compiler calls the counter at each basic block
WEIGHABLE = ("x86_64", "AMD64")  # processors whose assembler files `weighing.py` knows
# Where distributions keep MPICH's Fortran bindings, which work over any library with MPICH's ABI.
_LIBRARIES = ("/usr/lib/*-linux-gnu", "/usr/lib64/mpich/lib", "/usr/lib64", "/usr/lib")
_FORTRAN_SOURCES = (".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08")
_MODULES = (
    "/usr/include/*-linux-gnu/mpich",
    "/usr/lib/*-linux-gnu/fortran/gfortran-mod-*/mpich",
    "/usr/include/mpich-*",
    "/usr/include/mpich",
)


@dataclass(frozen=True)
class Wrapper:
    """One wrapper: its language, the environment variables that override its compiler, the options
    that do."""

    name: str
    language: Language
    overrides: tuple[str, ...]
    options: tuple[str, ...]


WRAPPERS = {
    wrapper.name: wrapper
    for wrapper in (
        Wrapper("mpicc", Language.C, ("MPICH_CC",), ("-cc=",)),
        Wrapper("mpicxx", Language.CXX, ("MPICH_CXX",), ("-cxx=", "-CC=")),
        Wrapper("mpifort", Language.FORTRAN, ("MPICH_FC", "MPICH_F90", "MPICH_F77"), ("-fc=", "-f90=", "-f77=")),
    )
}


@dataclass
class Line:
    """A wrapper's command in its parts."""

    compiler: Compiler
    compile_flags: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    link_flags: list[str] = field(default_factory=list)

    @property
    def command(self) -> list[str]:
        return [*self.compiler.command, *self.arguments, *self.compile_flags, *self.link_flags]


def line(
    wrapper: Wrapper,
    arguments: Sequence[str],
    chosen: str = "",
    *,
    standard: bool = False,
    links: bool = True,
    counts: bool = False,
    checked: bool = False,
) -> Line:
    """The command line of a wrapper for a compiler's `arguments`.

    `chosen` is the compiler's command, if not that of the environment; `standard` asks for the
    standard ABI; without `links` the command compiles alone and needs no library. With `counts` the
    program counts its instructions; `checked`: it tells its loads and stores to `lanai check`.
    """
    compiler = find(wrapper.language, chosen)
    if checked:
        made = line(wrapper, arguments, chosen, standard=standard, links=links, counts=counts)
        made.compile_flags += [*_telling(compiler), "-fsanitize=thread", "-g"]
        made.link_flags += [str(_touches()), *_CHECKED, *_RUN_TIME[wrapper.language]] if links else []
        return made
    if counts:
        made = line(wrapper, arguments, chosen, standard=standard, links=links)
        made.compile_flags += [COUNT, *_weighing(compiler)]
        made.link_flags[:0] = [str(_object("counter", "the counter of instructions")), "-rdynamic"] if links else []
        return made
    if wrapper.language is Language.FORTRAN:
        if standard:
            raise UserError("-mpi-abi: MPICH's Fortran bindings are of its own ABI alone; leave -mpi-abi out")
        libraries = [str(bindings()), *_link()] if links else []
        compiles = any(word.lower().endswith(_FORTRAN_SOURCES) for word in arguments)
        own = any(Path(word.removeprefix("-I"), "mpif.h").is_file() for word in arguments if word.startswith("-I"))
        includes = fortran_includes() if compiles and not own else _fortran_flags(_fortran_folders())
        return Line(compiler, includes, list(arguments), libraries)
    flavor = STANDARD if standard else MPICH
    defines = ["-DMPI_ABI"] if standard else []
    if links and not shared_libpython():
        raise UserError(
            f"{sys.executable} has no shared libpython, which C programs need to run the MPI library; "
            "use a Python that was built with --enable-shared"
        )
    flags = [*defines, f"-I{include_directory()}", *_usual(compiler, arguments)]
    return Line(compiler, flags, list(arguments), _link(flavor) if links else [])


def _usual(compiler: Compiler, arguments: Sequence[str]) -> list[str]:
    """The flag with which Zig's programs go on like others where C does not say what happens, such as beyond the
    largest number, or end by the same signal: it kills them by SIGILL there, unless they ask for a check of theirs."""
    asks = any(word.startswith("-fsanitize") for word in arguments)
    return ["-fno-sanitize=undefined"] if compiler.is_zig and not asks else []


# Not the run-time library of the compiler's sanitizer, which looks for races of threads.
_CALLED = (  # by the program's own code
    "memcpy", "memmove", "memset", "free", "realloc", "malloc", "calloc", "aligned_alloc", "posix_memalign", "_ZdlPv",
    "_ZdlPvm", "_Znwm", "_Znam",
)  # fmt: skip
_CHECKED = ("-rdynamic", ",".join(("-Wl", *(f"--wrap={name}" for name in _CALLED))), "-nodefaultlibs")
_RUN_TIME = {
    Language.C: ("-lc", "-lgcc", "-lgcc_s"),
    Language.CXX: ("-lstdc++", "-lm", "-lgcc_s", "-lc", "-lgcc"),
    Language.FORTRAN: ("-lgfortran", "-lquadmath", "-lm", "-lc", "-lgcc", "-lgcc_s"),
}


def _telling(compiler: Compiler) -> list[str]:
    """The flag before `-fsanitize=thread`. Clang would link its library too, so the part that compiles is told."""
    return ["-Xclang"] if compiler.is_zig or "clang" in compiler.identity else []


def _weighing(compiler: Compiler) -> list[str]:
    """The flags with which a compiler's output goes through `weighing.py`. None for one whose assembler cannot be
    replaced: `counter.c` counts its blocks."""
    if compiler.is_zig or platform.machine() not in WEIGHABLE:
        return []
    named = compiler.run(["-print-prog-name=as"], "looking for the assembler").strip()
    command = shlex.join(
        [sys.executable, "-IS", str(Path(__file__).with_name("weighing.py")), shutil.which(named) or named]
    )
    script = f'#!/bin/sh\nexec {command} "$@"\n'

    def build(made: Path) -> None:
        made.write_text(script)
        made.chmod(0o755)

    flags = [f"-B{file('native', key_of([script]), 'as', build).parent}/"]
    return [*flags, "-fno-integrated-as"] if "clang" in compiler.identity else flags


def _touches() -> Path:
    return _object("touches", "the checks of loads and stores")


def _object(name: str, what: str) -> Path:
    """Return the object of one of our C files, compiled once. It is itself neither counted nor checked."""
    source = resources.files(__package__).joinpath(f"{name}.c").read_text()
    compiler = find(Language.C)
    arguments = ["-O2", "-g0", "-fPIC", "-x", "c", "-c", "-"]

    def build(made: Path) -> None:
        compiler.run([*arguments, "-o", str(made)], f"building {what}", source)

    key = key_of([source, *compiler.command, compiler.identity, *arguments])
    return file("native", key, f"{name}.o", build)


def _link(flavor: Flavor = MPICH) -> list[str]:
    directory = str(library_directory(flavor.name))
    library = flavor.links[0].removeprefix("lib").removesuffix(".so")
    return [f"-L{directory}", f"-Wl,-rpath,{directory}", "-Wl,--enable-new-dtags", f"-l{library}"]


def bindings() -> Path:
    """MPICH's Fortran library. Raises UserError if there is none."""
    found = next((path for pattern in _LIBRARIES for path in _glob(f"{pattern}/libmpichfort.so*")), None)
    if found is None:
        raise UserError(
            "libmpichfort.so was not found; MPI from Fortran needs the distribution's bindings of MPICH, for example: "
            "apt install libmpich-dev"
        )
    return found


def fortran_includes() -> list[str]:
    """The flags with which a Fortran compiler finds mpif.h and MPI's modules. Raises UserError if they are not there:
    the libraries may be, without the files for development."""
    folders = _fortran_folders()
    if not any((folder / name).is_file() for folder in folders for name in ("mpif.h", "mpi.mod")):
        raise UserError(
            "mpif.h and mpi.mod were not found; MPI from Fortran needs the distribution's files of MPICH for "
            "development, for example: apt install libmpich-dev"
        )
    return _fortran_flags(folders)


def _fortran_folders() -> list[Path]:
    return [path for pattern in _MODULES for path in _glob(pattern)]


def _fortran_flags(folders: Sequence[Path]) -> list[str]:
    return [f"-I{folder}" for folder in folders]


def _glob(pattern: str) -> list[Path]:
    return sorted(Path("/").glob(pattern.removeprefix("/")))
