"""The plugin as pytest finds it, with its options.

pytest loads this module into every session of an environment that has openlanai. It does nothing there
unless `--lanai` or one of its settings asks for it, so it imports the rest only then.
"""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lanai", "tests of MPI programs on simulated ranks (openlanai)")
    group.addoption("--lanai", action="store_true", help="run tests with the markers parallel and mpi on ranks")
    group.addoption("--lanai-ranks", metavar="N-M", help="rank counts for each of these tests, such as 1-8 or 2,4,6")
    group.addoption("--lanai-device", metavar="NAME", help="messaging system between the ranks (default: ideal)")
    group.addoption("--lanai-all", action="store_true", help="run tests without these markers on ranks, too")
    group.addoption("--lanai-timeout", metavar="SECONDS", help="real time that the ranks of a test may take")
    group.addoption("--lanai-max-sim-time", metavar="TIME", help="simulated time that they may take, such as 20ms")
    parser.addini("lanai", "run marked tests on simulated ranks, as --lanai does", type="bool", default=False)
    parser.addini("lanai_ranks", "rank counts of tests whose markers name none", default="")
    parser.addini("lanai_device", "messaging system between the ranks", default="ideal")
    parser.addini("lanai_timeout", "real time in seconds that the ranks of a test may take", default="300")
    parser.addini("lanai_preload", "modules to import once for all ranks; they must not begin MPI", type="args")


@pytest.hookimpl(trylast=True)  # when other plugins have registered what they consist of
def pytest_configure(config: pytest.Config) -> None:
    asked = ("lanai", "lanai_ranks", "lanai_device", "lanai_all", "lanai_timeout", "lanai_max_sim_time")
    if config.getini("lanai") or any(config.getoption(name) for name in asked):
        from .activate import activate

        activate(config)
