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
