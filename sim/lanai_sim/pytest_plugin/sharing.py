"""The modules that the ranks of all tests of a session share, imported once for all of them."""

import sys
from types import ModuleType

import pytest


def installed_plugins(config: pytest.Config) -> list[tuple[str, str]]:
    """The names and modules of installed plugins, which each rank's session has, too."""
    found = {}
    for plugin, distribution in config.pluginmanager.list_plugin_distinfo():
        if isinstance(plugin, ModuleType):
            names = [entry.name for entry in distribution.entry_points if entry.value == plugin.__name__]
            found[names[0] if names else plugin.__name__] = plugin.__name__
    return list(found.items())


def shared_modules(plugins: list[tuple[str, str]]) -> list[str]:
    """Return the modules of Python's own library, of pytest and of installed plugins that a session has imported."""
    tops = {"_pytest", *sys.stdlib_module_names, *(module.partition(".")[0] for _, module in plugins)}
    return sorted(name for name in sys.modules if name.partition(".")[0] in tops and name != "__main__")
