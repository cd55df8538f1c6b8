"""The examples a newcomer runs first, each as its docstring says: on the simulated NICs and without
them."""

import subprocess
import sys
from pathlib import Path

import pytest
from warm import lanai

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
