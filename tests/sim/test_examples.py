"""The examples a newcomer runs first, each as its docstring says: on the simulated NICs and without
them."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from warm import lanai

import openlanai

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "ring.py": "ring of 4: token 6",
    "pi.py": "pi = 3.1415926",
    "halo.py": "equal to one rank",
    "sort.py": "sorted 4000 keys on 4 ranks",
    "cannon.py": "product is right",
    "pingpong.py": " 20000 bytes ",
    "blocks.py": "blocks of 8192 bytes",
}
RANKS = {"pingpong.py": 2, "blocks.py": 2}  # of all others 4


@pytest.mark.parametrize(
    ("example", "device"),
    [
        *((example, "mpi-np") for example in EXAMPLES),
        ("ring.py", "ideal"),
        *(pytest.param(example, "ideal", marks=pytest.mark.ci) for example in EXAMPLES if example != "ring.py"),
    ],
)
def test_example(example, device):
    program = ROOT / "examples" / "mpi" / example
    run = lanai("run", "-n", RANKS.get(example, 4), "--device", device, "python", program, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert EXAMPLES[example] in run.stdout


REMOTE_EXAMPLES = {
    "put.py": "written by another host",
    "counter.py": "every number once: True",
    "lock.py": "sum: 12, expected 12",
    "interrupt.py": "signal 7 from node 0",
}


@pytest.mark.parametrize("example", REMOTE_EXAMPLES)
def test_remote_memory_example(example):
    command = [sys.executable, f"examples/remote/{example}"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert REMOTE_EXAMPLES[example] in run.stdout


def test_the_example_of_the_api():
    run = subprocess.run(
        [sys.executable, "examples/api/compare.py"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    rows = [line.split() for line in run.stdout.splitlines()]
    assert [row[0] for row in rows] == ["ideal", "mpi-np", "sci"]
    assert all(0 < float(row[3]) < float(row[7]) for row in rows)


def test_every_example_is_run_here():
    assert {path.name for path in (ROOT / "examples" / "api").glob("*.py")} == {"compare.py"}
    assert {path.name for path in (ROOT / "examples" / "remote").glob("*.py")} == set(REMOTE_EXAMPLES)
    assert {path.name for path in (ROOT / "examples" / "mpi").glob("*.py")} == set(EXAMPLES)


# The notebooks of examples/notebooks: each runs to its end, in less than a minute once models are
# built, and shows what it says.

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


# `import openlanai` gives out the public names.


def test_all_names_are_there_and_documented():
    for name in openlanai.__all__:
        assert getattr(openlanai, name).__doc__, name


def test_errors_are_of_one_family():
    for name in ("UserError", "RunFailed", "Deadlock", "RankError"):
        assert issubclass(getattr(openlanai, name), openlanai.LanaiError)


def test_importing_it_starts_nothing():
    """No gateware is elaborated, nothing is printed, and signals stay as they are."""
    code = (
        "import signal, sys; before = signal.getsignal(signal.SIGINT); import openlanai; "
        "assert signal.getsignal(signal.SIGINT) is before; print('amaranth' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=500, check=False)
    assert (ran.stdout, ran.stderr) == ("False\n", "")


# The sample of the FPGA page: a board's top, Verilated, identifies itself over its serial line.

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "fpga.md"


@pytest.mark.ci
def test_samples_run():
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert blocks, "the page has no sample"
    exec(compile("\n".join(blocks), PAGE.name, "exec"), {"__name__": "sample"})
