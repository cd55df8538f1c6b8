"""C parts of Python modules: compiled once for each Python and source text, and found again in the
cache by content."""

import importlib.machinery
import importlib.util
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import IntEnum
from importlib import resources
from pathlib import Path
from typing import Any

import _cffi_backend  # type: ignore[import-untyped]

from lanai_firmware import cache
from lanai_firmware.building import Work

from . import real_time
from .errors import UserError

COMPILE = "compiling it"
IN_LIBRARY = (__package__, "in_library")  # a part of others: by package and name
FLAGS = ("-O2", "-w", "-fPIC", "-shared", "-pthread")
# Of libraries that replace functions of the C library: what they define may not be taken for what it is there.
# A function that they lack fails the build (`defs`), not each process.
PRELOAD_FLAGS = ("-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fno-builtin", "-pthread", "-Wl,-z,defs")

# Entered while a module is loaded: `lanai_host.abi.own_imports`, in a program.
own_imports: AbstractContextManager[Any] = nullcontext()


def enums(*kinds: type[IntEnum]) -> str:
    """Return these enums as text in C."""
    lists = (", ".join(f"{member.name} = {member.value}" for member in kind) for kind in kinds)
    return "".join(f"enum {{ {members} }};\n" for members in lists)


def load(package: str, name: str, declared: str, *parts: tuple[str, str], header: str = "") -> Any:
    """The module of `name`.c in `package`: `.lib` with the functions that `declared` (cffi's cdef)
    lists, and `.ffi`.

    `parts` names other C files that it uses, each by package and name. `header` is C text before
    them all: what Python declares.
    """
    with own_imports:
        return _load(f"_lanai_{name}", declared, text_of((*parts, (package, name)), header))


def _load(module: str, declared: str, text: str) -> Any:
    made_of = cache.key_of([module, declared, text, importlib.machinery.EXTENSION_SUFFIXES[0], *FLAGS])
    key = cache.Key(made_of, lambda: (sys.version, _cffi_backend.__version__))
    with real_time.shown():  # the cache keeps dates
        path = cache.file("native", key, f"{module}.so", lambda made: _build(module, declared, text, made))
    loader = importlib.machinery.ExtensionFileLoader(module, str(path))
    spec = importlib.util.spec_from_file_location(module, path, loader=loader)
    assert spec is not None
    return importlib.util.module_from_spec(spec)


def text_of(parts: Sequence[tuple[str, str]], header: str = "") -> str:
    """C files, each by package and name, as one text."""
    return header + "".join(resources.files(folder).joinpath(f"{name}.c").read_text() for folder, name in parts)


def preload(name: str, header: str, *parts: tuple[str, str]) -> Path:
    """A library of these C files that processes load before the C library. `header` is C text before
    them all."""
    from .compilers import Language, find, unwinder

    text = text_of(parts, header)

    def build(made: Path) -> None:
        compiler = find(Language.C)
        arguments = [*PRELOAD_FLAGS, "-x", "c", "-o", str(made), "-", "-ldl", *unwinder(compiler)]
        compiler.run(arguments, f"building the library {name} of ranks", text)

    return cache.file("native", key_of_text(text, PRELOAD_FLAGS), f"{name}.so", build)


def key_of_text(text: str, flags: Sequence[str]) -> cache.Key:
    """The key of what a C compiler makes of a text."""
    from .compilers import Language, find

    return cache.Key(cache.key_of([text, *flags]), lambda: [repr(find(Language.C).key)])


def _build(module: str, declared: str, text: str, path: Path) -> None:
    with Work(f"the C module {module}", "this Python", {COMPILE: 0.5}) as work:
        work.step(COMPILE)
        compile_module(module, declared, text, path, FLAGS)


def compile_module(module: str, declared: str, text: str, path: Path, flags: Sequence[str]) -> None:
    """Write a module of cffi. The compiler reads its text from standard input, so that no path gets into it."""
    import cffi
    from cffi.recompiler import make_c_source

    from .compilers import Language, find

    headers = sysconfig.get_paths()["include"]
    if not (Path(headers) / "Python.h").exists():
        raise UserError(f"{headers} has no Python.h, which building {module} needs; install Python's headers")
    ffi = cffi.FFI()
    ffi.cdef(declared)
    source = path.with_suffix(".c")
    make_c_source(ffi, module, text, str(source))
    arguments = [*flags, "-I", headers, "-o", str(path), "-x", "c", "-"]
    find(Language.C).run(arguments, f"building {module}", source.read_text())
    source.unlink()
