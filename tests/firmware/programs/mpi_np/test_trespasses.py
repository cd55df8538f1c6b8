"""Each check that keeps ranks apart refuses what it is there for (NP-14, NP-28), and without it an
attempt succeeds."""

import ast
from pathlib import Path

import pytest

import lanai_firmware.programs.mpi_np
from lanai_firmware.programs.mpi_np import layout

from .checks import checks
from .trespasses import ATTEMPTS

BORDER = {"boot", "quick_sends", "requests"}  # boot clears the slots before the host may write to them
DRIVER = {"layout", "program", "sram", "trace"}  # `program` says who judges its fields


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.__name__)
def test_refused(attempt):
    attempt()


@pytest.mark.parametrize("mutant", checks(), ids=str)
def test_no_check_is_idle(mutant):
    """With a check removed, an attempt that its function must stop reaches what it is after, or the
    firmware strays."""
    attempts = [attempt for attempt, stopped_by in ATTEMPTS.items() if mutant.place in stopped_by]
    assert attempts, f"no attempt is stopped by {mutant.place}: add one to a module of trespasses.py"
    with mutant.applied():
        for attempt in attempts:
            try:
                attempt()
            except Exception:
                return
    pytest.fail(f"none of {[attempt.__name__ for attempt in attempts]} notices that this check is gone: {mutant}")


def test_every_attempt_names_functions_with_checks():
    places = {mutant.place for mutant in checks()}
    for attempt, stopped_by in ATTEMPTS.items():
        assert set(stopped_by) <= places, attempt.__name__


def test_protocols_cannot_reach_a_request():
    """Memory that a host may change at any time is read at the border only: no other module of the
    firmware knows `Request`."""
    assert layout.Request
    knowing = set()
    for path in sorted(Path(lanai_firmware.programs.mpi_np.__path__[0]).rglob("*.py")):
        tree = ast.parse(path.read_text())
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        texts = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        if "Request" in names | texts or "live_request" in names:
            knowing.add(path.stem)
    assert knowing == BORDER | DRIVER
