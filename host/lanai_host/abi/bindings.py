"""MPICH's Fortran and C++ bindings: libraries of the distribution that stand between a program and
this library, under the names of MPICH and under those of Debian."""

import os
from pathlib import Path

from lanai_firmware import cache

FORTRAN = ("libmpichfort.so.12", "libmpifort.so.12")
CXX = ("libmpichcxx.so.12", "libmpicxx.so.12")
PLACES = ("/lib/*-linux-gnu", "/usr/lib/*-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib", "/usr/local/lib")


def find_library(name: str, first: list[str] | None = None) -> Path | None:
    """A library, as the loader would find it, after the directories `first`."""
    given = [*(first or ()), *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)]
    usual = [str(place) for pattern in PLACES for place in sorted(Path("/").glob(pattern.removeprefix("/")))]
    return next((Path(place, name) for place in (*given, *usual) if place and Path(place, name).exists()), None)


def find_bindings(names: tuple[str, ...]) -> Path | None:
    """The installed bindings of one language, under whichever name they have."""
    return next((found for found in map(find_library, names) if found is not None), None)


def other_names() -> Path | None:
    """A directory in which installed bindings have the names under which they are not installed.
    None if there is nothing to add."""
    links: dict[str, str] = {}
    for names in (FORTRAN, CXX):
        found = find_bindings(names)
        if found is not None:
            links |= {name: str(found) for name in names if find_library(name) is None}
    if not links:
        return None

    def fill(work: Path) -> None:
        for name, target in links.items():
            (work / name).symlink_to(target)

    return cache.entry("bindings", cache.key_of([f"{name} {target}" for name, target in links.items()]), fill)
