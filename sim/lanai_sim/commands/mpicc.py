"""Compile and link an MPI program. Every argument goes to the compiler, but for a few: see `lanai mpicc
-help`, `lanai mpicxx -help` and `lanai mpifort -help`.

These are MPICH's wrappers and their options over this project's library.
"""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from lanai_host import compilers
from lanai_host.abi.wrappers import WRAPPERS, Line, Wrapper, line
from lanai_host.errors import UserError

from ..version import version

NAME, HELP = "mpicc", "compile an MPI program in C"
OTHERS = {"mpicxx": "compile an MPI program in C++", "mpifort": "compile an MPI program in Fortran"}
NO_LINK = frozenset({"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"})
STANDARD_ABI = ("-mpi-abi", "-mpi_abi")
SHOW = {
    "-show": "all",
    "-compile-info": "compiling",
    "-compile_info": "compiling",
    "-link-info": "linking",
    "-link_info": "linking",
    "-show-compile-info": "compile flags",
    "-show-link-info": "link flags",
}
# Open MPI's spellings.
SHOW |= {
    "-showme": "all",
    "-showme:command": "compiler",
    "-showme:compile": "compile flags",
    "-showme:link": "link flags",
    "-showme:incdirs": "include directories",
    "-showme:libdirs": "library directories",
    "-showme:libs": "libraries",
}
SHOW |= {f"-{spelling}": what for spelling, what in SHOW.items() if spelling.startswith("-showme")}
REFUSED = {
    "-static-mpi": "there is no static library; leave it out",
    "-config=": "there are no configuration files; name the compiler by {option}COMPILER or ${variable}",
}
OWN_HELP = """\
usage: lanai {name} [option | argument of the compiler] ...

Every argument goes to the compiler ({compiler}), but for these:

    -show               print the command instead of running it
    -compile-info       print the command that compiles
    -link-info          print the command that links
    -show-compile-info  print the flags for compiling alone
    -show-link-info     print the flags for linking alone
    --showme[:PART]     the same as Open MPI has it: command, compile, link, incdirs, libdirs, libs
    {choice:<20}use this compiler
    -profile=NAME       link the library NAME before the MPI library
    --count             let the program count its instructions, for `lanai run --compute counted`
    --check             let the program tell its loads and stores to `lanai check`
    -mpi-abi            make a program of the standard ABI (libmpi_abi.so.1), not MPICH's
    -echo               print the command, then run it
    -help               print this

The compiler is {option}COMPILER, else ${variable}, else ${general} unless that is a wrapper, else one that is
installed.
"""


@dataclass
class Request:
    """The options of a wrapper's command line."""

    arguments: list[str] = field(default_factory=list)
    show: str = ""
    chosen: str = ""
    profile: list[str] = field(default_factory=list)
    standard: bool = False
    counts: bool = False
    checked: bool = False
    echo: bool = False
    help: bool = False

    @property
    def links(self) -> bool:
        """True if the compiler is to link: not with an option such as `-c`, nor for a question such as
        `--version`."""
        if NO_LINK & set(self.arguments):
            return False
        named = any(not word.startswith("-") or word == "-" for word in self.arguments)
        return named or bool(self.show)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.prefix_chars = "\0"  # options are the compiler's
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="what the compiler gets")


def run(args: argparse.Namespace) -> int:
    return wrap(args.command, args.arguments)


def wrap(name: str, arguments: Sequence[str]) -> int:
    """Do what the wrapper `name` is asked; the compiler's exit code."""
    wrapper = WRAPPERS[name]
    if os.environ.get(compilers.RECURSION):
        setting = next((f"{v}={os.environ[v]!r}" for v in _variables(wrapper) if os.environ.get(v)), "its compiler")
        raise UserError(
            f"`lanai {name}` was started by an MPI wrapper: {setting} leads back to it; name a compiler there"
        )
    asked = parse(wrapper, arguments)
    if asked.help or not arguments:
        print(_help(wrapper), end="", file=sys.stdout if asked.help else sys.stderr)
        return 0 if asked.help else 1
    made = line(
        wrapper,
        asked.arguments,
        asked.chosen,
        standard=asked.standard,
        links=asked.links,
        counts=asked.counts,
        checked=asked.checked,
    )
    if asked.profile and asked.links:
        made.link_flags[:0] = [f"-l{name}" for name in asked.profile]
    if asked.show:
        print(shlex.join(shown(made, asked.show)))
        return 0
    if "-v" in asked.arguments:
        print(f"{name} for MPICH's ABI, openlanai {version()}", flush=True)
    if asked.echo:
        print(shlex.join(made.command), file=sys.stderr, flush=True)
    code = subprocess.run(made.command, check=False, env=compilers.guarded()).returncode
    return code if code >= 0 else 128 - code


def parse(wrapper: Wrapper, arguments: Sequence[str]) -> Request:
    """Read the wrapper's own options; the others stay. The compiler comes from -cc= and the like,
    else from MPICH_CC."""
    asked = Request(chosen=next((os.environ[name] for name in wrapper.overrides if os.environ.get(name)), ""))
    for word in arguments:
        option, equals, value = word.partition("=")
        if word in SHOW:
            asked.show = SHOW[word]
        elif option.lstrip("-").startswith("showme"):
            parts = ", ".join(name.partition(":")[2] for name in SHOW if name.startswith("--showme:"))
            raise UserError(f"{word} is not understood; write --showme, or --showme: and one of {parts}")
        elif f"{option}{equals}" in wrapper.options:
            asked.chosen = value
        elif option == "-profile" and equals:
            asked.profile.append(value)
        elif f"{option}{equals}" in REFUSED:
            reason = REFUSED[f"{option}{equals}"].format(option=wrapper.options[0], variable=wrapper.overrides[0])
            raise UserError(f"{word}: {reason}")
        elif word in STANDARD_ABI:
            asked.standard = True
        elif word == "--count":
            asked.counts = True
        elif word == "--check":
            asked.checked = True
        elif word == "-echo":
            asked.echo = True
        elif word == "-help":
            asked.help = True
        else:
            asked.arguments.append(word)
    return asked


def shown(made: Line, what: str) -> list[str]:
    """The part of a command that an option such as -link-info asks for."""
    compiler, arguments = list(made.compiler.command), made.arguments
    return {
        "all": made.command,
        "compiling": [*compiler, *arguments, *made.compile_flags],
        "linking": [*compiler, *arguments, *made.link_flags],
        "compile flags": made.compile_flags,
        "link flags": made.link_flags,
        "compiler": compiler,
        "include directories": _without("-I", made.compile_flags),
        "library directories": _without("-L", made.link_flags),
        "libraries": _without("-l", made.link_flags),
    }[what]


def _without(prefix: str, flags: Sequence[str]) -> list[str]:
    """The values of the flags that begin with a prefix."""
    return [flag.removeprefix(prefix) for flag in flags if flag.startswith(prefix)]


def _variables(wrapper: Wrapper) -> tuple[str, ...]:
    return (*wrapper.overrides, wrapper.language.value.variable)


def _help(wrapper: Wrapper) -> str:
    option = wrapper.options[0]
    try:
        compiler = shlex.join(compilers.find(wrapper.language).command)
    except UserError:
        compiler = "none was found"
    return OWN_HELP.format(
        name=wrapper.name, compiler=compiler, option=option, choice=f"{option}COMPILER",
        variable=wrapper.overrides[0], general=wrapper.language.value.variable,
    )  # fmt: skip
