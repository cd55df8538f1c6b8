"""The parts that a session gets when it asks for ranks."""

from types import ModuleType

import pytest

from lanai_host.errors import UserError

from . import counts as fixtures
from .counts import Counts, parse_counts
from .rank import is_rank

MARKERS = (
    "parallel(nprocs=3): run the test on so many simulated ranks; a list: at each of these counts",
    "mpi(ranks=2, min_size=1, timeout=None): likewise; at least so many ranks; real time in seconds",
)
RIVALS = ("pytest_mpi", "pytest_isolate_mpi")  # packages of plugins that start the same tests under a launcher


def activate(config: pytest.Config) -> None:
    """Register what runs tests on ranks; in a rank, what such a test finds there."""
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    try:
        counts = _counts(config)
    except UserError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(fixtures, "lanai-fixtures")
    config.pluginmanager.register(counts, "lanai-counts")
    replaced = _replace_rivals(config)
    if is_rank():
        return
    from .bench import Bench  # brings the launcher along

    try:
        config.pluginmanager.register(Bench(config, counts, replaced), "lanai-bench")
    except UserError as error:
        raise pytest.UsageError(str(error)) from None


def _counts(config: pytest.Config) -> Counts:
    asked, usual = config.getoption("lanai_ranks"), config.getini("lanai_ranks")
    return Counts(
        parse_counts("--lanai-ranks", asked) if asked else (),
        parse_counts("lanai_ranks", usual) if usual else (),
        config.getoption("lanai_all"),
    )


def _replace_rivals(config: pytest.Config) -> list[str]:
    """Turn off plugins that would start the same tests; return their names. Their options stay, and their
    markers and fixtures are ours as well."""
    manager = config.pluginmanager
    found = [plugin for plugin in manager.get_plugins() if _module(plugin).partition(".")[0] in RIVALS]
    names = [manager.get_name(plugin) for plugin in found if isinstance(plugin, ModuleType)]
    for plugin in found:
        manager.unregister(plugin)
    return sorted(filter(None, names))


def _module(plugin: object) -> str:
    return plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
