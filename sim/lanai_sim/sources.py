"""The version of this project's code that is running: a digest of all its sources, for figures that
are kept between runs.

A simulated figure may depend on any source of the four packages: gateware, firmware, driver, MPI
library, engine, kernel, fabric, native code. So all of them count. A change that moves no figure
costs a measurement; a row of other code would cost a wrong answer.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from lanai_hdl import source_files
from lanai_host import plugins

PACKAGES = ("lanai_hdl", "lanai_firmware", "lanai_host", "lanai_sim")
CODE = frozenset({".py", ".c", ".cc", ".cpp", ".f90", ".h", ".hpp", ".v", ".vlt", ".sv", ".dat", ".lmp"})
# Pages, types, papers' claims, and usual values of registers, which cost real time alone.
NOT_CODE = frozenset({".css", ".html", ".js", ".pyi", ".toml", ".txt", ".typed"})
TOOLS = ("amaranth", "llvmlite")  # they decide gateware and firmware as our sources do


def roots() -> dict[str, Path]:
    """The packages' directories by name, and those on LANAI_PATH."""
    found = {}
    for name in PACKAGES:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        found[name] = Path(spec.origin).parent
    return found | {f"{plugins.ENV_PATH}/{n}": Path(name) for n, name in enumerate(plugins.directories())}


def code(places: Mapping[str, Path]) -> list[tuple[str, str]]:
    """Every source file, with a name that does not depend on where the packages are."""
    return sorted(found for name, root in places.items() for found in source_files.below(str(root), name, CODE))


def digest(tools: bool = True) -> str:
    """Return a digest of all sources as they are on disk now, and of the versions of the tools that make
    gateware and firmware of them unless `tools` is false."""
    made = hashlib.sha256()
    for tool in TOOLS if tools else ():
        made.update(f"{tool} {_version(tool)}\n".encode())
    for name, path in code(roots()):
        source_files.add(made, name, path)
    return made.hexdigest()[:16]


def program_digest(program: Sequence[str]) -> str:
    """Return a digest of a user's program: of the files that its command names."""
    found = hashlib.sha256()
    for word in program:
        path = Path(word)
        if os.path.isfile(path):  # `Path.is_file` refuses a text that is too long for a name
            found.update(path.read_bytes())
        found.update(b"\0")
    return found.hexdigest()


def _version(tool: str) -> str:
    try:
        return version(tool)
    except PackageNotFoundError:
        return "absent"
