"""The one search for compilers: C and C++ for what this project builds, and all three languages for
users' programs.

A language's compiler is the one that its environment variable names (CC, CXX, FC), else one that is
installed, else the one in the package `ziglang`. A variable that names an MPI wrapper, as `make
CC="lanai mpicc"` sets it, is passed over: the wrapper would run itself.
"""

import errno
import functools
import importlib.util
import itertools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from .errors import UserError

RECURSION = "MPICH_RECURSION_CHECK"  # set for what a wrapper starts; MPICH's own wrappers obey it too
WRAPPERS = frozenset({
    "mpicc", "mpicxx", "mpic++", "mpiCC", "mpifort", "mpif77", "mpif90", "mpicc_abi", "mpicxx_abi", "mpifort_abi",
    "lanai-mpicc", "lanai-mpicxx", "lanai-mpifort",
})  # fmt: skip


V3 = "x86-64-v3"  # the level of x86-64 that models are made for if the processor has it
V3_FLAGS = frozenset({"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"})  # as Linux calls them


@dataclass(frozen=True)
class Search:
    """The search for a language's compiler, and a program that shows whether it works."""

    title: str
    variable: str
    names: tuple[str, ...]
    zig: str  # what `ziglang` calls it, if it has one
    remedy: str
    suffix: str
    trial: str


class Language(Enum):
    C = Search(
        "C", "CC", ("cc", "gcc", "clang"), "cc", "pip install 'openlanai[compiler]'",
        ".c", "#include <stdio.h>\nint main(void) { return puts(\"\") == 0; }\n",
    )  # fmt: skip
    CXX = Search(
        "C++", "CXX", ("g++", "clang++", "c++"), "c++", "pip install 'openlanai[compiler]'",
        ".cc", "#include <vector>\nint main() { return int(std::vector<int>(1).at(0)); }\n",
    )  # fmt: skip
    FORTRAN = Search(
        "Fortran", "FC", ("gfortran", "flang"), "", "install one, for example: apt install gfortran",
        ".f90", "program trial\nprint *, 1\nend program\n",
    )  # fmt: skip


@dataclass(frozen=True)
class Compiler:
    """A compiler: how to call it, what it says it is."""

    command: tuple[str, ...]
    identity: str

    @property
    def is_zig(self) -> bool:
        return "ziglang" in self.command

    @property
    def key(self) -> tuple[object, ...]:
        """The compiler's part of cache keys: two compilers with the same key give the same objects. Zig is the same
        wherever pip put it.
        """
        return (self.identity, self.command[-1]) if self.is_zig else (self.command, self.identity)

    def run(self, arguments: Sequence[str], what: str, text: str = "") -> str:
        """Run it with `text` as its input; what it printed. `what` says in the error message what
        it was for. Zig, which would compile for the processor that it runs on, compiles for all, as others do."""
        kind = ["-mcpu=baseline"] if self.is_zig else []
        done = subprocess.run(
            [*self.command, *kind, *arguments], input=text, text=True, capture_output=True, check=False, env=guarded()
        )
        if done.returncode:
            if "No space left" in done.stderr:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            last = "\n".join(done.stderr.strip().splitlines()[-20:])
            raise UserError(f"{what} failed with {shlex.join(self.command)}:\n{last}")
        return done.stdout


@functools.cache
def processor() -> str:
    """Return the lines in which Linux describes the first processor's kind and abilities; "" if it does not describe
    them.
    """
    told = ("vendor_id", "cpu family", "model", "model name", "flags", "CPU implementer", "CPU part", "Features")
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            first = list(itertools.takewhile(str.strip, lines))
    except OSError:
        return ""
    return "".join(line for line in first if line.partition(":")[0].strip() in told)


@functools.cache
def level() -> str:
    """Return the processors that models are compiled for: V3, or what `processor` says."""
    flags = next((line for line in processor().splitlines() if line.startswith("flags")), "")
    return V3 if frozenset(flags.split()) >= V3_FLAGS else processor()


def find(language: Language, chosen: str = "") -> Compiler:
    """The compiler of a language: `chosen` if that names one, else as the module says. Raises
    UserError if there is none."""
    search = language.value
    for setting, source in ((chosen, ""), (os.environ.get(search.variable, ""), search.variable)):
        words = split(setting, source or search.title)
        if words and not is_wrapper(words):
            if shutil.which(words[0]) is None:
                where = f"{source}={setting!r}" if source else f"{setting!r}"
                mend = f"unset {source} or name" if source else "name"
                raise UserError(f"{where} is not a program; {mend} a {search.title} compiler")
            return _compiler(words)
        if words and not source:
            raise UserError(f"{setting!r} is an MPI wrapper, which would run itself; name a {search.title} compiler")
    for name in search.names:
        if path := shutil.which(name):
            return _compiler((path,))
    if search.zig and importlib.util.find_spec("ziglang"):
        return _zig(search.zig)
    tried = ", ".join((*search.names, *(["ziglang"] if search.zig else [])))
    raise UserError(f"no {search.title} compiler ({tried}) was found; {search.remedy}")


def split(setting: str, name: str) -> tuple[str, ...]:
    """The words of a compiler setting, as a shell would read them."""
    try:
        return tuple(shlex.split(setting))
    except ValueError as error:
        raise UserError(f"{name}={setting!r} is not a command: {error}") from error


def is_wrapper(words: Sequence[str]) -> bool:
    """Return whether a command runs an MPI wrapper, ours or another, behind any launcher.

    Examples are `lanai mpicc` and `ccache /usr/bin/mpicc`.
    """
    return any(Path(word).name in WRAPPERS for word in words)


def guarded() -> Mapping[str, str]:
    """The environment for a compiler. A wrapper that finds itself started from it was called by
    itself."""
    return {**os.environ, RECURSION: "1"}


def trial(language: Language) -> Compiler:
    """The compiler of a language, which has just compiled and linked a program. Raises UserError if
    it cannot."""
    compiler = find(language)
    with tempfile.TemporaryDirectory(prefix="lanai-trial-") as name:
        source = Path(name, f"trial{language.value.suffix}")
        source.write_text(language.value.trial)
        compiler.run(["-o", f"{name}/trial", str(source)], f"compiling a {language.value.title} program")
    return compiler


def bind_own_functions(compiler: Compiler) -> str:
    """The linker option by which a library's calls of its own functions stay inside it. Zig's front
    knows the wider one only."""
    return "-Wl,-Bsymbolic" if compiler.is_zig else "-Wl,-Bsymbolic-functions"


def unwinder(compiler: Compiler) -> tuple[str, ...]:
    """Return the linker option for the functions of <unwind.h>, which Zig links into a C library only if told so."""
    return ("-lunwind",) if compiler.is_zig else ()


def _zig(mode: str) -> Compiler:
    """The one in the package `ziglang`, identified without starting it: that takes half a
    second."""
    from importlib.metadata import PackageNotFoundError, version  # a tenth of a warm run

    try:
        installed = version("ziglang")
    except PackageNotFoundError:
        installed = "of unknown version"
    return Compiler((sys.executable, "-m", "ziglang", mode), f"ziglang {installed}")


@functools.cache
def _compiler(command: tuple[str, ...]) -> Compiler:
    answer = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, env=guarded())
    return Compiler(command, (answer.stdout or answer.stderr).split("\n", 1)[0])
