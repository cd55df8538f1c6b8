"""The installed programs: Ctrl-C before a command is loaded."""

import subprocess
import sys

import pytest

from lanai_sim import programs

NAMES = {"lanai": "lanai", "mpiexec": "mpiexec", "mpicc": "lanai", "mpicxx": "lanai", "mpifort": "lanai"}
# Python calls the finder for each import: the first one of the command is interrupted.
CODE = """
import signal, sys
from lanai_sim import programs
class Finder:
    def find_spec(name, *_):
        if name == "lanai_sim.cli":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder)
programs.NAME()
"""


@pytest.mark.parametrize("program", NAMES)
def test_an_interrupted_import_is_told_in_one_line(program):
    assert callable(getattr(programs, program))
    done = subprocess.run(
        [sys.executable, "-c", CODE.replace("NAME", program)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", f"{NAMES[program]}: interrupted\n")


def test_an_interrupt_in_an_exec_does_not_change_the_exit_code(tmp_path):
    """`python -m` remembers it, and ends by the signal itself. Each dataclass is made by `exec`."""
    (tmp_path / "interrupted_module.py").write_text(
        "import sys\nfrom lanai_sim.cli import guarded\n"
        "sys.exit(guarded('name', lambda: exec('raise KeyboardInterrupt')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "interrupted_module"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "name: interrupted\n")
