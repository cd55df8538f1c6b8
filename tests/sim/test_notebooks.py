"""The notebooks of examples/notebooks: each runs to its end, in less than a minute once models are
built, and shows what it says."""

import ast
import importlib.util
from pathlib import Path

import matplotlib as mpl
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def defined(name, monkeypatch):
    """Run a notebook, and return what its cells define."""
    monkeypatch.setattr(mpl, "rcParams", mpl.rcParams.copy())
    mpl.use("agg")
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, found = module.app.run()
    return found


def test_they_use_the_public_interface_alone():
    assert NAMES == ["pingpong", "sweep", "systems"]
    for name in NAMES:
        nodes = [*ast.walk(ast.parse((FOLDER / f"{name}.py").read_text()))]
        imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        assert {one for one in imported if "lanai" in one} == {"openlanai"}


@pytest.mark.ci
def test_a_ping_pong_down_to_the_line(monkeypatch):
    found = defined("pingpong", monkeypatch)
    assert len(found["messages"]) == 6
    assert set(found["hottest"]["node"]) == {0, 1}
    assert (found["hottest"]["source"] != "").all()
    assert found["by_call"].query("name == 'MPI_Recv'")["count"].tolist() == [3, 3]


@pytest.mark.ci
def test_five_systems(monkeypatch):
    found = defined("systems", monkeypatch)
    assert len(set(found["answers"].values())) == 1
    assert found["table"].shape == (5, 5)
    assert (found["table"] > 0).all().all()
    assert found["table"]["simulated"].idxmax() == "ccu-1996"


@pytest.mark.ci
def test_a_sweep(monkeypatch):
    found = defined("sweep", monkeypatch)
    assert found["table"].shape == (5, 4)
    assert found["table"].loc[16384].is_monotonic_decreasing
