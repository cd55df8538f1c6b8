"""The import of what this library needs in a process whose Python does not have it: the program sees
nothing of that.

`sys.path` stays as it is. Packages that the program's Python has, such as numpy, are used from there.
For the others a finder at the end of `sys.meta_path` answers this library, and nobody else. Of what
it found, packages that are not this library's own are taken out of `sys.modules` as soon as the
program goes on, and put back when this library imports again.

The library's boot text loads this file by its path, so it uses the standard library alone.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType

BOOT = "lanai_boot"  # the name of the module as which the boot text runs
OWN = ("lanai_hdl", "lanai_firmware", "lanai_host")
_IMPORT = ("importlib", "_frozen_importlib", "pkgutil")  # modules that import for others


class Finder(MetaPathFinder):
    """Finds in `paths` what this library imports, and what the packages import that it found for it."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths)
        self._found = {BOOT, *OWN}  # top-level names
        self._hidden: dict[str, dict[str, ModuleType]] = {}  # modules by their top-level name

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a top-level module that no other finder has found, if this library imports it."""
        if path is not None or not self._is_ours(sys._getframe(1)):
            return None
        if fullname in self._hidden:
            return ModuleSpec(fullname, _Again(self._hidden.pop(fullname)))
        spec = PathFinder.find_spec(fullname, self._paths, target)
        if spec is not None:
            self._found.add(fullname)
        return spec

    def _is_ours(self, frame: FrameType | None) -> bool:
        """Does code of this library, or of a package found for it, import?"""
        while frame is not None:
            top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            if top not in _IMPORT:
                return top in self._found
            frame = frame.f_back
        return False

    def hide(self) -> None:
        """The program goes on: what was found for this library alone is not there for the program."""
        for top in self._found.difference(OWN):
            if top in sys.modules:
                names = [name for name in sys.modules if name == top or name.startswith(f"{top}.")]
                self._hidden[top] = {name: sys.modules.pop(name) for name in names}


class _Again(Loader):
    """Puts a package that was hidden back, with all its modules."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._modules = modules
        self._specs = {name: module.__spec__ for name, module in modules.items()}

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._specs[module.__name__]
        sys.modules.update(self._modules)


def finder(paths: Sequence[str]) -> Finder:
    """One that is in use from now on."""
    made = Finder(paths)
    sys.meta_path.append(made)
    return made
