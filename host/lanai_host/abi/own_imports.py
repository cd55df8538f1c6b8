"""Imports that no file of the program's folder can change, and of which the program sees nothing.

Python looks beside the program first, so a file `random.py` there would be what this library gets for the
standard library's module. While an `OwnImports` is entered, modules of the standard library come from there,
and a file of the program hides no package. A package of the program's own, such as another numpy, is used as
Python would use it: a process cannot load two of them.

The library's boot text loads this file by its path, before anything else. It imports what every Python has loaded.
"""

import _frozen_importlib_external as machinery
import os  # is loaded: Python's own start needs it
import sys

TYPE_CHECKING = False  # as in typing, which would have to be imported
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

ZIP = f"python{sys.version_info[0]}{sys.version_info[1]}.zip"


class OwnImports:
    """A finder that is in use while it is entered. May be entered again before it is left."""

    def __init__(self) -> None:
        self._depth = 0
        self._mine: dict[str, dict[str, ModuleType]] = {}  # what the program does not see, by the top-level name
        self._theirs: dict[str, dict[str, ModuleType]] = {}  # what the program has in its place

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """Find a top-level module for this library; None where Python's own way finds the right one."""
        if path is not None:
            return None
        spec = _real(name, self._standard)
        if spec is None and (theirs := _real(name, self._first)) and not theirs.submodule_search_locations:
            spec = _real(name, [entry for entry in sys.path if entry not in self._first])
        return spec

    def __enter__(self) -> "OwnImports":
        self._depth += 1
        if self._depth > 1:
            return self
        self._look()
        for name, module in list(sys.modules.items()):
            origin = "" if "." in name else self._origin_beside(module)
            if origin and (mine := self.find_spec(name)) and mine.origin != origin:
                self._theirs[name] = _take(name)
        for modules in self._mine.values():
            sys.modules.update(modules)
        self._before = set(sys.modules).difference(*self._mine.values())
        self._mine = {}
        # after the finders of built-in and frozen modules, before those that look in folders
        place = next((i for i, one in enumerate(sys.meta_path) if one is machinery.PathFinder), len(sys.meta_path))
        sys.meta_path.insert(place, self)
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        sys.meta_path.remove(self)
        for name in [name for name in sys.modules if "." not in name and name not in self._before]:
            spec = _spec(sys.modules[name])
            theirs = _real(name, self._first) if spec is not None and spec.has_location else None
            if spec is not None and theirs is not None and theirs.origin != spec.origin:
                # Of numpy, C code imports other parts by their whole names at any time: they stay, if they can.
                self._mine[name] = _take(name, theirs.submodule_search_locations is not None)
        for modules in self._theirs.values():
            sys.modules.update(modules)
        self._theirs = {}

    def _look(self) -> None:
        """Find the entries of `sys.path` with the standard library, and those before them."""
        library = sys._stdlib_dir or ""  # type: ignore[attr-defined]
        own = (library, f"{library}/lib-dynload")
        entries = [entry for entry in sys.path if isinstance(entry, str)]
        self._standard = [entry for entry in entries if entry in own or entry.rpartition("/")[2] == ZIP]
        self._first = entries[: min(map(entries.index, self._standard), default=0)]
        self._folders = {entry or _here() for entry in self._first} - {""}

    def _origin_beside(self, module: "ModuleType") -> str:
        """Return the file of a module in a folder that comes before the standard library; else nothing."""
        origin = getattr(_spec(module), "origin", None) or ""
        folder, _, file = origin.rpartition("/")
        if file.startswith("__init__."):
            folder = folder.rpartition("/")[0]
        return origin if folder in self._folders else ""


def _spec(module: "ModuleType") -> "ModuleSpec | None":
    """Return the spec of a module. One that is loaded when it is first used is not loaded now."""
    try:
        spec: ModuleSpec | None = object.__getattribute__(module, "__spec__")
    except AttributeError:
        return None
    return spec


def _real(name: str, entries: list[str]) -> "ModuleSpec | None":
    """Return the spec of a module in these entries of a path; None also for a folder without `__init__.py`."""
    spec = machinery.PathFinder.find_spec(name, entries) if entries else None
    return spec if spec is not None and spec.origin is not None else None


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _take(name: str, whole: bool = True) -> "dict[str, ModuleType]":
    """Take a module out of `sys.modules`. `whole`: with those below it."""
    names = [one for one in sys.modules if one == name or (whole and one.startswith(f"{name}."))]
    return {one: sys.modules.pop(one) for one in names}
