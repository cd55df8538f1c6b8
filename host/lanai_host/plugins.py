"""Folders outside this project whose packages are found like its own: LANAI_PATH, as PATH is
written.

A directory on LANAI_PATH may have `stacks/`, `blocks/`, `boards/`, `engines/`, `fabrics/` and
`papers/`. What lies there is found, named and loaded like what lies in `lanai_host.stacks`,
`lanai_sim.machine.blocks`, `lanai_sim.engines.boards.known`, `lanai_sim.engines.kinds`,
`lanai_sim.machine.fabrics` and `lanai_sim.studies.papers`. `Contract` loads it, and says what is wrong
with one that is broken. `cases.txt` there is read by `lanai_sim.engines.gates.cases`.
"""

import importlib
import inspect
import os
import pkgutil
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, MutableSequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from .errors import UserError, say

ENV_PATH = "LANAI_PATH"
KINDS = ("stacks", "blocks", "boards", "engines", "fabrics", "papers")
CASES = "cases.txt"


def directories() -> list[str]:
    """Return the directories on LANAI_PATH. Raises UserError for one that has none of the kinds."""
    found = list(filter(None, os.environ.get(ENV_PATH, "").split(os.pathsep)))
    for directory in found:
        has_kind = any(os.path.isdir(os.path.join(directory, kind)) for kind in KINDS)
        if not has_kind and not os.path.isfile(os.path.join(directory, CASES)):
            wanted = ", ".join([*(f"{kind}/" for kind in KINDS), CASES])
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


# The object that a plugin of some kind must hold: loaded and checked, or a UserError of one line that names the
# plugin, its package, and what is wrong with it.

FOUND = TypeVar("FOUND")


class Unusable(UserError):
    """A plugin is broken."""


@dataclass(frozen=True)
class Contract:
    """A kind of plugin.

    Attributes:
        noun: the kind in messages.
        package: the package whose modules are the plugins.
        attribute: the name of the object in the plugin's module. It must have whatever `base` annotates.
        base: the class of the object, or with `is_class` the class that it is derived from.
        named: the name that the object says it has, as command lines spell it. It must be that of the folder or file.
        module: the submodule of the plugin that holds the object, if not the plugin itself.
    """

    noun: str
    package: str
    attribute: str
    base: type
    named: Callable[[Any], str]
    module: str = ""
    is_class: bool = False

    def load(self, name: str) -> Any:
        """Return the object of the plugin `name`, as command lines spell it. Raises Unusable."""
        module = self._import(name)
        wanted = f"{self.base.__name__} ({self.base.__module__})"
        if not hasattr(module, self.attribute):
            raise self.unusable(name, f"{module.__file__} has no {self.attribute}; it must hold {wanted}")
        found = getattr(module, self.attribute)
        if not (_derived(found, self.base) if self.is_class else isinstance(found, self.base)):
            kind = "a class derived from" if self.is_class else "an object of"
            raise self.unusable(name, f"{self.attribute} in {module.__file__} is {found!r}; it must be {kind} {wanted}")
        if lacks := [one for one in inspect.get_annotations(self.base) if not hasattr(found, one)]:
            raise self.unusable(name, f"{self.attribute} in {module.__file__} lacks {', '.join(lacks)}; see {wanted}")
        if (said := self.make(name, lambda: self.named(found))) != name:
            where = f"{self.attribute} in {module.__file__}"
            raise self.unusable(name, f"{where} says that its name is {said!r}; it must be that of its folder or file")
        return found

    def make(self, name: str, made: Callable[[], FOUND]) -> FOUND:
        """Return what `made` returns, which calls the code of the plugin `name`. Raises Unusable if that fails."""
        try:
            return made()
        except (Exception, SystemExit) as error:
            raise self.unusable(name, _failure(error, self._path(name))) from error

    def unusable(self, name: str, why: str) -> Unusable:
        return Unusable(f"the {self.noun} {name!r} ({self._module(name)}) cannot be used: {why}")

    def _module(self, name: str) -> str:
        return f"{self.package}.{name.replace('-', '_')}"

    def _path(self, name: str) -> tuple[str, ...]:
        """Return the beginnings of the names of the plugin's files."""
        folders: Iterable[str] = importlib.import_module(self.package).__path__
        places = [Path(folder, name.replace("-", "_")) for folder in folders]
        return tuple(text for place in places for text in (f"{place}/", f"{place}.py"))

    def _import(self, name: str) -> ModuleType:
        full = ".".join(filter(None, [self._module(name), self.module]))
        try:
            return importlib.import_module(full)
        except ModuleNotFoundError as error:
            if error.name != full:
                raise self.unusable(name, _failure(error, self._path(name))) from error
            if not self.module:
                raise self.unusable(name, "the name of its file must have underscores instead of dashes") from None
            raise self.unusable(name, f"its folder must hold {self.module}.py") from None
        except (Exception, SystemExit) as error:
            raise self.unusable(name, _failure(error, self._path(name))) from error


def usable(names: Iterable[str], load: Callable[[str], FOUND]) -> Iterator[tuple[str, FOUND]]:
    """Load plugins by name. Those that are broken are left out, with a warning on standard error."""
    for name in names:
        try:
            found = load(name)
        except Unusable as error:
            _warn(str(error))
        else:
            yield name, found


@cache
def _warn(text: str) -> None:
    """Print a warning once."""
    say(f"lanai: warning: left out: {text}")


def _derived(found: Any, base: type) -> bool:
    return isinstance(found, type) and issubclass(found, base)


def _failure(error: BaseException, files: tuple[str, ...]) -> str:
    """Return an exception in one line, with the last place in the plugin's `files`."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__} in {error.filename}, line {error.lineno}: {error.msg}"
    places = [
        f"in {one.filename}, line {one.lineno}"
        for one in traceback.extract_tb(error.__traceback__)
        if one.filename.startswith(files)
    ]
    said = " ".join(str(error).split())
    return " ".join([type(error).__name__, *places[-1:]]) + (f": {said}" if said else "")
