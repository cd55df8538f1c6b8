"""Bytecode of what ranks import, written before the first of them starts.

A module that is compiled at its import leaves another heap than one whose bytecode is read. Without
this, buffers of the first run after an installation would lie elsewhere than those of later runs.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from lanai_firmware.cache import build, key_of

KIND = "bytecode"  # of the cache's entries that say that there is bytecode
OTHERS = ("numpy", "mpi4py")  # packages that ranks import, beside our own
IMPORTS = """
import contextlib, sys
from lanai_host.simulator.forking import warm_up
with contextlib.suppress(ImportError):
    import mpi4py
warm_up(sys.argv[1])
"""


def keep(device: str, variables: Mapping[str, str]) -> None:
    """Ranks on `device` with these environment variables find bytecode, unless the variables forbid
    to write any. Imports that fail are not reported: a rank says what is wrong."""
    if variables.get("PYTHONDONTWRITEBYTECODE"):
        return

    def imported() -> bytes:
        subprocess.run(
            [sys.executable, "-c", IMPORTS, device],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(variables), check=False,
        )  # fmt: skip
        return b""

    prefix = variables.get("PYTHONPYCACHEPREFIX", "")
    build(key_of([sys.executable, sys.version, prefix, device, *_sources()]), KIND, imported)


def _sources() -> Iterator[str]:
    """What changes when a source does whose bytecode ranks read."""
    yield from _stamps(str(files("lanai_host")))
    for name in OTHERS:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            yield _stamp(spec.origin, os.stat(spec.origin))


def _stamps(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir():
                yield from _stamps(entry.path)
            elif Path(entry.name).suffix == ".py":
                yield _stamp(entry.path, entry.stat())


def _stamp(path: str, status: os.stat_result) -> str:
    return f"{path} {status.st_mtime_ns} {status.st_size}"
