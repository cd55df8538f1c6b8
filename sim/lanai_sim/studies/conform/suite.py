"""The suite: where its tests are, and which of them are left out."""

import fnmatch
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lanai_firmware import cache
from lanai_host.errors import UserError
from lanai_host.stacks.base import Stack

VERSION = "4.1.2"
_KEPT = ("test", "demo")  # directories of its sources

SPAWN = "test_spawn"
# Modules that are left out where ranks have NICs, and why.
LEFT_OUT_ON_NICS = {
    SPAWN: "it starts more than a hundred processes, and each needs a spare NIC",
}
# Modules that start processes, and how many spares for each rank are enough where they are used
# again and again.
SPARES = {SPAWN: 16}
SPARES_ON_NICS = {SPAWN: 8}  # fewer: each is a NIC to simulate
# The same for modules that start processes only where they have one rank.
SPARES_OF_ONE = {"test_util_pool": 24}
# Modules that get more time than others, and how many times as much.
HEAVY = {
    "test_io": 4,  # each test goes through all types of arrays, and synchronizes the file with the disk for each
    # every rank for itself makes and unmakes datatypes by the hundred thousand, and processors are
    # few
    "test_util_dtlib": 4,
}


def directory() -> Path:
    """The directory of the suite's tests, fetched with pip the first time."""
    return _sources() / "test"


def demos() -> Path:
    """The directory of mpi4py's demos, fetched with it."""
    return _sources() / "demo"


def _sources() -> Path:
    return cache.entry("mpi4py", cache.key_of([VERSION, *_KEPT]), _fetch)


def _fetch(work: Path) -> None:
    """Fill `work` with the tests and demos."""
    with tempfile.TemporaryDirectory(dir=work.parent) as name:
        command = ["download", "--quiet", "--no-deps", "--no-binary", "mpi4py", f"mpi4py=={VERSION}", "-d", name]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--disable-pip-version-check", *command],
            capture_output=True,
            text=True,
            check=False,
        )
        archive = Path(name, f"mpi4py-{VERSION}.tar.gz")
        if done.returncode or not archive.exists():
            last = "\n".join(done.stderr.strip().splitlines()[-5:])
            raise UserError(f"pip could not download mpi4py {VERSION}, whose tests are the suite:\n{last}")
        with tarfile.open(archive) as tar:
            # Python before 3.11.4 has no filters, and no argument for them.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            tar.extractall(name)
        for kept in _KEPT:
            Path(name, f"mpi4py-{VERSION}", kept).rename(work / kept)


def left_out(on: Stack) -> dict[str, str]:
    """Modules that are left out on a messaging system, and why."""
    if not on.nics:
        return {}
    return {name: why for name, why in LEFT_OUT_ON_NICS.items() if name != SPAWN or not on.spares_serve_again}


def modules(only: Sequence[str], on: Stack) -> list[str]:
    """The suite's modules, without those that are left out on a messaging system; or those that were
    asked for, by name or by pattern."""
    known = sorted(path.stem for path in directory().glob("test_*.py"))
    rest = [name for name in known if name not in left_out(on)]
    chosen: list[str] = []
    for pattern in only:
        found = [pattern] if pattern in known else fnmatch.filter(rest, pattern)
        if not found:
            raise UserError(f"the suite has no module {pattern!r}; it has {', '.join(known)}")
        chosen += [name for name in found if name not in chosen]
    return chosen or rest


def spares(names: Sequence[str], ranks: int, on: Stack) -> int:
    """Return how many processes these modules need beside their ranks."""
    many = SPARES_ON_NICS if on.nics else SPARES
    each = [many.get(name, 0) * ranks + SPARES_OF_ONE.get(name, 0) * (ranks == 1) for name in names]
    return max(each, default=0)


def program(names: Sequence[str]) -> list[str]:
    """Return the arguments of `python` that run these modules."""
    chosen = "|".join(names)
    return [str(directory() / "main.py"), "-v", "-i", rf"^({chosen})\.py$"]
