"""Finds the modules of a package that each bring a command or a bench."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType


def plugins(package: ModuleType, wanted: str = "") -> Iterator[ModuleType]:
    """The modules of `package`, by name; only the `wanted` one if there is such. Each has NAME (its
    own), HELP, add_arguments(parser) and run(args). A command may have FIRST, the options that a short
    help shows, and OTHERS, more commands that its `run` knows by `args.command`."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_"))
    for name in [wanted] if wanted in names else names:
        yield importlib.import_module(f"{package.__name__}.{name}")
