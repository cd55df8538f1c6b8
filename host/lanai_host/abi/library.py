"""The built library: compiled once per Python and header, and put in place once per installation; both are then found
again in the cache by content."""

import os
import site
import sys
import sysconfig
from importlib import resources
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from pathlib import Path

from lanai_firmware import cache

from ..c_module import IN_LIBRARY, text_of
from .flavor import FLAVORS, Flavor
from .installed import include_directory, shared_libpython

_OURS = ("lanai_hdl", "lanai_firmware", "lanai_host")  # what a rank imports


def library_directory(flavor: str = "mpich") -> Path:
    """The directory with the library (libmpi.so.12 and its other names), built if need be."""
    chosen = FLAVORS[flavor]
    key = _key(chosen)
    return cache.entry("abi", key, lambda work: _put(chosen, work, cache.place("abi", key)))


def _put(flavor: Flavor, work: Path, directory: Path) -> None:
    from .building import build, put  # brings C parsers along

    compiled = cache.entry("libmpi", _made_of(flavor), lambda work: build(flavor, work))
    put(flavor, compiled, work, directory, _interpreter(), _paths(), shared_libpython())


def _interpreter() -> str:
    """The path of this interpreter, by one of its names: `python` and `python3` of an environment
    share a library."""
    usual = Path(sys.executable).with_name("python3")
    return str(usual) if usual.exists() and usual.samefile(sys.executable) else sys.executable


def _sources() -> list[bytes]:
    names = (
        "building.py",
        "crash.c",
        "flavor.py",
        "front.c",
        "guest.py",
        "header.py",
        "installed.py",
        "library.py",
        "mpich_data.c",
        "mpich_fortran.h",
        "own_imports.py",
    )
    package = resources.files(__package__)
    return [text_of([IN_LIBRARY]).encode(), *(package.joinpath(name).read_bytes() for name in names)]


def _made_of(flavor: Flavor) -> cache.Key:
    """The key of what is compiled."""
    include = include_directory()
    headers = [path.read_bytes() for path in sorted(include.glob("mpi*.h"))]
    made_of = cache.key_of([flavor.name, EXTENSION_SUFFIXES[0], *headers, *_sources()])
    return cache.Key(made_of, lambda: (sys.version, version("cffi")))


def _key(flavor: Flavor) -> str:
    """The key of a library in its place."""
    home = str(cache.directory())  # the boot text names it
    parts = (_made_of(flavor).made_of, sys.version, _interpreter(), shared_libpython(), version("cffi"), home)
    return cache.key_of([*parts, *_paths()])


def _paths() -> list[str]:
    """Return where this interpreter finds the packages that the library needs: those of the installation,
    and those that hold ours.

    Other directories (that of the running script, also if it is the installation's own, the current
    one, what a program added by itself) are left out: a library for each of them would be built in
    vain.
    """
    scripts = os.path.realpath(sysconfig.get_path("scripts"))
    installation = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, *_user_site())}
    kept: list[str] = []
    for path in sys.path:
        above = {os.path.realpath(path), *map(str, Path(os.path.realpath(path)).parents)}
        ours = any(os.path.isdir(os.path.join(path, name)) for name in _OURS)
        installed = above & installation and os.path.realpath(path) != scripts
        if path and path not in kept and os.path.isdir(path) and (ours or installed):
            kept.append(path)
    return kept


def _user_site() -> list[str]:
    return [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
