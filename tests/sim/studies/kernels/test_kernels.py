"""The kernels compute what they say, on any number of ranks that they take: each checks its own result."""

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("kernel", "ranks", "arguments"),
    [
        ("integer_sort", 2, (2000, 1)),
        pytest.param("integer_sort", 3, (3000, 2), marks=pytest.mark.slow),
        pytest.param("multigrid", 2, (8, 1, 1), marks=pytest.mark.slow),
        pytest.param("multigrid", 4, (8, 2, 0), marks=pytest.mark.slow),
    ],
)
def test_a_kernel_is_right_and_measured(kernel, ranks, arguments, tmp_path):
    file = tmp_path / "found.json"
    command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", str(ranks), "--host-option", "clock=20000000"]
    command += [sys.executable, "-m", f"lanai_sim.studies.kernels.{kernel}", str(file), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(file.read_text())
    assert found["ms"] > 0
    assert "written_percent" not in found  # `ideal` has no remote writes to count


HALO = """
from lanai_sim.studies.kernels.halo import Plane
plane = Plane(8)
plane.steps(3)
assert plane.error(3) < 1e-12
plane.block[1, 1] += plane.block.shape[0]
assert plane.error(3) > 1
"""
GRADIENTS = """
from lanai_sim.studies.kernels import conjugate_gradient as cg
right = cg.problem(8)
first, last = (cg.error(right, cg.solve(right, count)) for count in (2, 20))
assert last < 1e-9 < first
assert cg.error(right, 0 * right) == 1
"""


@pytest.mark.parametrize("program", [HALO, GRADIENTS], ids=["halo", "gradients"])
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.ci)])
def test_the_check_of_a_kernel_tells_right_from_wrong(program, ranks):
    command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", str(ranks), sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.ci
def test_faces_of_two_axes_are_told_apart(tmp_path):
    """On `ccu` a face of the next axis arrives before one of this axis. The receives name no source."""
    command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", "4", "--device", "ccu"]
    command += ["--host-option", "clock=20000000"]
    command += [
        sys.executable,
        "-m",
        "lanai_sim.studies.kernels.multigrid",
        str(tmp_path / "found.json"),
        "8",
        "1",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
