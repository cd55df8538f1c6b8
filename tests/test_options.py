"""Options of pytest that leave out what tests/conftest.py can do without."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_pytest_runs_without_its_cache():
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(HERE / "hdl/link/test_format.py"),
    ]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
