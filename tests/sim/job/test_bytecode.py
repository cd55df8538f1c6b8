"""The first run after an installation takes the same time as the next."""

import subprocess
import sys

import pytest

from lanai_sim.job import bytecode

PLACES = """
import numpy
from mpi4py import MPI
buffers = [numpy.zeros(size, "u1") for size in (3, 500, 2000, 9000)]
print(MPI.COMM_WORLD.gather([buffer.ctypes.data for buffer in buffers]))
"""


@pytest.mark.parametrize("fork", [(), pytest.param(("--no-fork",), marks=pytest.mark.ci)])
def test_buffers_of_the_first_run_lie_as_those_of_the_next(fork, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", "2", *fork, sys.executable, "-c", PLACES]
    runs = [subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2)]
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * 2
    assert runs[0].stdout == runs[1].stdout


def test_who_writes_no_bytecode_needs_none(monkeypatch):
    monkeypatch.setattr(bytecode, "build", None)
    bytecode.keep("ideal", {"PYTHONDONTWRITEBYTECODE": "1"})
