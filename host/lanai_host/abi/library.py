"""The built library: made once per Python and header, then found again in the cache by content."""

import json
import os
import sys
import sysconfig
from importlib import resources
from pathlib import Path

import cffi
from cffi.recompiler import make_c_source

import lanai_host
from lanai_firmware import cache

from ..compilers import Language, bind_own_functions, find
from ..errors import UserError
from . import generate
from .flavor import BRIDGE, FLAVORS, INTERFACE, Flavor
from .header import Header, include_directory, read

# Python text that the front runs at the first MPI call. Of another Python than the one it was built for, it asks only that
# lanai_host can be imported there; if not, it looks where it was when the library was built.
_BOOT = """
import sys
try:
    import lanai_host
except ImportError:
    sys.path.extend({paths!r})
from lanai_host.abi.runtime import attach
attach({flavor!r}, {directory!r}, TABLE, STATE, STARTED, UNWEIGHTED, EMPTY)
"""
# What the front puts in when it runs the text.
_FORMS = {
    "TABLE": "int('%p', 16)",
    "STATE": "int('%p', 16)",
    "STARTED": "%d",
    "UNWEIGHTED": "int('%p', 16)",
    "EMPTY": "int('%p', 16)",
}


def library_directory(flavor: str = "mpich") -> Path:
    """The directory with the library (libmpi.so.12 and its other names), built if need be."""
    chosen = FLAVORS[flavor]
    key = _key(chosen)
    return cache.entry("abi", key, lambda work: _build(chosen, work, cache.place("abi", key)))


def shared_libpython() -> str:
    """The path of this interpreter's shared libpython; empty if it has none."""
    directory, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
    if not (directory and name and ".so" in name):
        return ""
    path = Path(directory) / name
    return str(path) if path.exists() else ""


def _sources() -> list[bytes]:
    names = (
        "flavor.py",
        "front.c",
        "generate.py",
        "header.py",
        "library.py",
        "mpich_data.c",
        "mpich_fortran.h",
    )
    package = resources.files(__package__)
    return [package.joinpath(name).read_bytes() for name in names]


def _key(flavor: Flavor) -> str:
    include = include_directory()
    headers = [path.read_bytes() for path in sorted(include.glob("mpi*.h"))]
    home = str(cache.directory())  # the boot text names it
    parts = [flavor.name, sys.version, sys.executable, shared_libpython(), cffi.__version__, home, *_paths()]
    return cache.key_of([*parts, *headers, *_sources()])


def _paths() -> list[str]:
    """Where this interpreter finds the packages that the library needs.

    The directory of the running script and the current one are among them only if they hold this package: a library for each
    directory that `lanai` is called in would be built in vain.
    """
    passing = {os.getcwd(), os.path.dirname(os.path.abspath(sys.argv[0] if sys.argv else ""))}
    own = os.path.dirname(os.path.dirname(lanai_host.__file__))
    return [path for path in sys.path if path and os.path.isdir(path) and (path not in passing or path == own)]


def _build(flavor: Flavor, work: Path, directory: Path) -> None:
    """Fill `work`, which becomes `directory`."""
    header = read(flavor.header)
    _compile_front(header, flavor, work, directory)
    _compile_bridge(header, flavor, work)
    (work / INTERFACE).write_text(json.dumps(interface(header, flavor)))
    for name in flavor.links:
        (work / name).symlink_to(flavor.soname)


def _compile_front(header: Header, flavor: Flavor, work: Path, directory: Path) -> None:
    text = _BOOT.format(paths=_paths(), flavor=flavor.name, directory=str(directory))
    boot = text.replace("%", "%%")
    for name, form in _FORMS.items():
        boot = boot.replace(name, form)
    source = work / "front.c"
    source.write_text(generate.front(header, flavor, sys.executable, shared_libpython(), boot))
    compiler = find(Language.C)
    compiler.run(
        [
            *("-O2", "-w", "-fPIC", "-shared", "-I", str(include_directory())),
            *("-o", str(work / flavor.soname), str(source)),
            *(f"-Wl,-soname,{flavor.soname}", bind_own_functions(compiler), "-ldl", "-lpthread"),
        ],
        f"building {flavor.soname}",
    )


def _compile_bridge(header: Header, flavor: Flavor, work: Path) -> None:
    headers = sysconfig.get_paths()["include"]
    if not (Path(headers) / "Python.h").exists():
        raise UserError(f"{headers} has no Python.h, which building {flavor.soname} needs; install Python's headers")
    ffi = cffi.FFI()
    declared, text = generate.bridge(header, flavor)
    ffi.cdef(declared)
    source = work / f"{BRIDGE}.c"
    make_c_source(ffi, BRIDGE, text, str(source))
    find(Language.C).run(
        ["-O2", "-w", "-fPIC", "-shared", "-I", headers, "-o", str(work / f"{BRIDGE}.so"), str(source)],
        f"building the bridge of {flavor.soname}",
    )


def interface(header: Header, flavor: Flavor) -> dict[str, object]:
    """What the bindings need to know of the header at run time."""
    _, crossing = generate.table(header, flavor)
    return {
        "constants": header.constants,
        "functions": {
            f.name: [flavor.plain_result(f), [[p.name, p.base, p.pointers, p.const] for p in f.parameters]]
            for f in crossing
        },
    }
