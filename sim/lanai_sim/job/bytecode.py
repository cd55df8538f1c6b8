"""Bytecode of what ranks import, written before the first of them starts.

A module that is compiled at its import leaves another heap than one whose bytecode is read. Without
this, buffers of the first run after an installation would lie elsewhere than those of later runs.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import cache_from_source, find_spec
from pathlib import Path

OURS = ("lanai_host", "lanai_hdl", "lanai_firmware")  # packages that ranks import modules of, some of them late
OTHERS = ("numpy", "mpi4py")  # pip compiles these, unless it is told not to
TESTS = "tests"  # no rank imports packages of this name
COMPILE = """
import compileall, contextlib, importlib, re, sys
device, folders, tests, *others = sys.argv[1:]
for folder in folders.split(chr(0x1F)):
    compileall.compile_dir(folder, quiet=2, rx=re.compile(f"/{tests}/"))
for name in others:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
from lanai_host.simulator.forking import warm_up
warm_up(device)
"""


def keep(device: str, variables: Mapping[str, str]) -> None:
    """Ranks on `device` with these environment variables find bytecode, unless the variables forbid
    to write any or the packages' folders are read-only.

    What cannot be compiled is not reported: a rank says what is wrong.
    """
    ours, others = ([folder for name in names for folder in _folders(name)] for names in (OURS, OTHERS))
    if variables.get("PYTHONDONTWRITEBYTECODE") or all(map(_is_compiled, [*ours, *_first_sources(others)])):
        return
    subprocess.run(
        [sys.executable, "-c", COMPILE, device, "\x1f".join([*ours, *others]), TESTS, *OTHERS],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=dict(variables), check=False,
    )  # fmt: skip


def _folders(package: str) -> list[str]:
    """Return where its modules lie. It is not imported for that."""
    spec = find_spec(package)
    return [] if spec is None else list(spec.submodule_search_locations or ())


def _first_sources(folders: Iterable[str]) -> Iterator[str]:
    """Yield the first file of each package in these folders, some of which numpy imports late. If it has bytecode, the
    rest is taken to have it too."""
    for folder in map(Path, folders):
        for first in (folder / "__init__.py", *folder.glob("*/__init__.py")):
            if first.parent.name != TESTS:
                yield str(first)


def _is_compiled(path: str) -> bool:
    """Return whether a source, or each in a folder, has bytecode that is not older, or can have none."""
    if not os.path.isdir(path):
        return _are_compiled(Path(path).parent, [Path(path).name])
    return all(_are_compiled(Path(folder), names) for folder, _, names in os.walk(path))


def _are_compiled(folder: Path, names: Iterable[str]) -> bool:
    sources = [str(folder / name) for name in names if name.endswith(".py")]
    if not sources:
        return True
    bytecode = [cache_from_source(source) for source in sources]
    try:
        return all(
            os.stat(code).st_mtime >= os.stat(source).st_mtime for code, source in zip(bytecode, sources, strict=True)
        )
    except OSError:
        return sys.pycache_prefix is None and not os.access(folder, os.W_OK)
