"""The native engine: one library for all models, built once on a machine by any compiler of C++. It needs no library of
C++, so zig compiles it as C's compiler, which has none to compile first."""

import tempfile
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from lanai_firmware import building
from lanai_firmware import cache as entries
from lanai_host.compilers import Compiler, Language, find

from . import declared
from .gates import outside

OPTIONS = (
    "-x", "c++", "-std=gnu++17", "-O3", "-fPIC", "-shared", "-w", "-g0", "-fvisibility=hidden", "-fno-exceptions",
    "-fno-rtti", "-fno-threadsafe-statics", "-pthread",
)  # fmt: skip
STEP = "compiling the engine"


def texts() -> dict[str, str]:
    """Return the files of the engine by name."""
    package = files(__package__)
    folder = package.joinpath("native")
    found = {one.name: one.read_text() for one in folder.iterdir() if one.name.endswith((".h", ".cc"))}
    return {
        **found,
        "words.c": package.joinpath("words.c").read_text(),
        "declared.h": declared.header() + outside.header(),
    }


def compiler() -> Compiler:
    """The compiler of C++. Zig is called as one of C, which links no library of C++."""
    found = find(Language.CXX)
    return replace(found, command=(*found.command[:-1], "cc")) if found.is_zig else found


def options(tool: Compiler) -> list[str]:
    return [*OPTIONS, *(["-fno-sanitize=undefined"] if tool.is_zig else [])]


@cache
def library() -> Path:
    """The library of the engine, from a wheel or the cache if it is there. Its folder's name is equal only for the same
    engine."""
    sources = texts()

    def tools() -> list[str]:
        return [repr(compiler().key)]

    def build(made: Path) -> None:
        tool = compiler()
        with (
            building.Work("the simulation engine", "", {STEP: 3.0}) as told,
            tempfile.TemporaryDirectory(dir=made.parent, prefix="building-", ignore_cleanup_errors=True) as work,
        ):
            told.step(STEP)
            for name, text in sources.items():
                Path(work, name).write_text(text)
            tool.run([*options(tool), f"-I{work}", "-o", str(made), f"{work}/engine.cc"], STEP)

    made_of = entries.key_of([repr(OPTIONS), repr(sorted(sources.items()))])
    return entries.file("engine", entries.Key(made_of, tools), "engine.so", build)
