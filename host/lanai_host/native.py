"""C parts of Python modules: compiled once for each Python and source text, and found again in the
cache by content."""

import importlib.machinery
import importlib.util
import sys
import sysconfig
from enum import IntEnum
from importlib import resources
from pathlib import Path
from typing import Any

import _cffi_backend  # type: ignore[import-untyped]

from lanai_firmware import cache
from lanai_firmware.building import Work

from .errors import UserError

COMPILE = "compiling it"
FLAGS = ("-O2", "-w", "-fPIC", "-shared", "-pthread")


def enums(*kinds: type[IntEnum]) -> str:
    """The same enums in C."""
    lists = (", ".join(f"{member.name} = {member.value}" for member in kind) for kind in kinds)
    return "".join(f"enum {{ {members} }};\n" for members in lists)


def load(package: str, name: str, declared: str, *parts: tuple[str, str], header: str = "") -> Any:
    """The module of `name`.c in `package`: `.lib` with the functions that `declared` (cffi's cdef)
    lists, and `.ffi`.

    `parts` names other C files that it uses, each by package and name. `header` is C text before
    them all: what Python declares.
    """
    sources = [resources.files(folder).joinpath(f"{part}.c").read_text() for folder, part in (*parts, (package, name))]
    text = header + "".join(sources)
    module = f"_lanai_{name}"
    key = cache.key_of([module, declared, text, sys.version, _cffi_backend.__version__, *FLAGS])
    path = cache.file("native", key, f"{module}.so", lambda made: _build(module, declared, text, made))
    loader = importlib.machinery.ExtensionFileLoader(module, str(path))
    spec = importlib.util.spec_from_file_location(module, path, loader=loader)
    assert spec is not None
    return importlib.util.module_from_spec(spec)


def _build(module: str, declared: str, text: str, path: Path) -> None:
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
    with Work(f"the C module {module}", "this Python", {COMPILE: 0.5}) as work:
        work.step(COMPILE)
        find(Language.C).run([*FLAGS, "-I", headers, "-o", str(path), str(source)], f"building {module}")
