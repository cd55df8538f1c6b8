"""C parts of Python modules: compiled once for each Python and source text, and found again in the cache by content."""

import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

import _cffi_backend  # type: ignore[import-untyped]

from lanai_firmware import cache

from .errors import UserError

FLAGS = ("-O2", "-w", "-fPIC", "-shared", "-pthread")


def load(name: str, declared: str) -> Any:
    """The module of `name`.c beside this file: `.lib` with the functions that `declared` (cffi's cdef) lists, and `.ffi`."""
    text = resources.files(__package__).joinpath(f"{name}.c").read_text()
    module = f"_lanai_{name}"
    key = cache.key_of([module, declared, text, sys.version, _cffi_backend.__version__, *FLAGS])
    path = cache.directory() / "native" / f"{key[:32]}.so"
    if not path.exists():
        _build(module, declared, text, path)
    loader = importlib.machinery.ExtensionFileLoader(module, str(path))
    spec = importlib.util.spec_from_file_location(module, path, loader=loader)
    assert spec is not None
    return importlib.util.module_from_spec(spec)


def _build(module: str, declared: str, text: str, path: Path) -> None:
    import cffi
    from cffi.recompiler import make_c_source

    from .abi import compiler

    headers = sysconfig.get_paths()["include"]
    if not (Path(headers) / "Python.h").exists():
        raise UserError(f"{headers} has no Python.h, which building {module} needs; install Python's headers")
    ffi = cffi.FFI()
    ffi.cdef(declared)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".partial-") as work:
            source, made = f"{work}/{module}.c", f"{work}/{module}.so"
            make_c_source(ffi, module, text, source)
            compiler.run([*FLAGS, "-I", headers, "-o", made, source], f"building {module}")
            os.replace(made, path)
    except OSError as error:
        raise UserError(
            f"cannot write the cache {str(path.parent)!r}: {error.strerror}; set LANAI_CACHE to a writable directory with room"
        ) from error
