"""Folders outside this project whose packages are found like its own: LANAI_PATH, as PATH is
written.

A directory on LANAI_PATH may have `stacks/`, `blocks/`, `engines/`, `fabrics/` and `papers/`. What
lies there is found, named and loaded like what lies in `lanai_host.stacks`,
`lanai_sim.machine.blocks`, `lanai_sim.engines.kinds`, `lanai_sim.machine.fabrics` and
`lanai_sim.studies.papers`. `plugin_contract` loads it, and says what is wrong with one that is broken.
"""

import os
import pkgutil
from collections.abc import Collection, Iterable, MutableSequence

from .errors import UserError

ENV_PATH = "LANAI_PATH"
KINDS = ("stacks", "blocks", "engines", "fabrics", "papers")


def directories() -> list[str]:
    """Return the directories on LANAI_PATH. Raises UserError for one that has none of the kinds."""
    found = list(filter(None, os.environ.get(ENV_PATH, "").split(os.pathsep)))
    for directory in found:
        if not any(os.path.isdir(os.path.join(directory, kind)) for kind in KINDS):
            wanted = ", ".join(f"{kind}/" for kind in KINDS)
            raise UserError(f"{ENV_PATH} names {directory!r}, which has none of {wanted}")
    return found


def extend(path: MutableSequence[str], kind: str) -> None:
    """Add the folders of one kind to a package's `__path__`."""
    for directory in directories():
        folder = os.path.abspath(os.path.join(directory, kind))
        if os.path.isdir(folder) and folder not in path:
            path.append(folder)


def names(path: Iterable[str], *, packages_only: bool) -> list[str]:
    """Return the names of the modules in the folders, as command lines spell them: `my_stack` is `my-stack`. Raises
    UserError for a name found twice.
    """
    modules = [
        info for folder in path for info in pkgutil.iter_modules([folder])
    ]  # all at once would hide a name's second
    found = [info.name for info in modules if info.ispkg or not packages_only]
    spelled = sorted(name.replace("_", "-") for name in found)
    for name in spelled:
        if spelled.count(name) > 1:
            raise _twice(name)
    return spelled


def names_with(path: MutableSequence[str], kind: str, own: Collection[str]) -> list[str]:
    """Add the folders of one kind to a package's `__path__`. Return the package's own names and those of the modules
    in the folders. Raises UserError for a module with an own name, or with that of a module of the package."""
    folders: list[str] = []
    extend(folders, kind)
    extend(path, kind)
    found = names(folders, packages_only=False)
    for name in {*own, *names(path[:1], packages_only=False)}.intersection(found):
        raise _twice(name)
    return [*own, *found]


def _twice(name: str) -> UserError:
    return UserError(f"{name!r} is found twice; rename the folder on {ENV_PATH}")
