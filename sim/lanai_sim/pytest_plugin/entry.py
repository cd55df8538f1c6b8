"""The plugin as pytest finds it, with its options.

pytest loads this module into every session of an environment that has openlanai. It does nothing there
unless `--lanai` or one of its settings asks for it, or a test for the fixture, so it imports the rest only then.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

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


@pytest.fixture
def lanai_cocotb(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., int]:
    """Call `lanai_hdl.bfm.verilated.run_cocotb` with a component and a bench, a file beside the test; further
    arguments are its own. What is written goes to `tmp_path`. The test is skipped where the simulator is missing."""
    from lanai_hdl.bfm.verilated import missing, run_cocotb

    def call(component: Any, bench: str, **asked: Any) -> int:
        if lacking := missing(asked.get("simulator", "verilator")):
            pytest.skip(lacking)
        count: int = run_cocotb(component, request.path.parent / bench, tmp_path, **asked)
        return count

    return call


@pytest.fixture
def lanai_prove(tmp_path: Path) -> Callable[..., None]:
    """Call `lanai_hdl.bfm.proofs.prove` with a component; further arguments are its own. What is written goes to
    `tmp_path`. The test is skipped where the tools are missing."""
    from lanai_hdl.bfm.proofs import missing, prove

    if lacking := missing():
        pytest.skip(lacking)
    return partial(prove, directory=tmp_path)
