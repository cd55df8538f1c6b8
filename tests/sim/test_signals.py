"""The signals that end a command."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import weakref

import pytest

from lanai_sim import programs
from lanai_sim.signals import none_lost, signals_to


def interrupt(number, frame):
    raise KeyboardInterrupt


@contextlib.contextmanager
def limited(seconds):
    """Set an alarm, as a run with a limit of time has one."""
    before = signal.signal(signal.SIGALRM, lambda number, frame: pytest.fail("the alarm came"))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Thing:
    pass


def test_ctrl_c_in_the_callback_of_a_weak_reference_is_not_lost():
    """Python drops the exception there, which happens while modules are imported."""
    things = [Thing()]
    reference = weakref.ref(things[0], lambda _: signal.raise_signal(signal.SIGINT))

    def wait():
        things.clear()
        assert reference() is None
        time.sleep(10)

    with signals_to(interrupt), none_lost(), limited(9), pytest.raises(KeyboardInterrupt):
        wait()


def test_what_else_is_dropped_is_told():
    seen = []
    before, sys.unraisablehook = sys.unraisablehook, lambda found: seen.append(found.exc_type)
    try:
        with none_lost():
            thing = Thing()
            reference = weakref.ref(thing, lambda _: 1 / 0)
            del thing
    finally:
        sys.unraisablehook = before
    assert reference() is None
    assert seen == [ZeroDivisionError]


def test_the_hook_is_as_before():
    before = sys.unraisablehook
    with none_lost():
        assert sys.unraisablehook != before
    assert sys.unraisablehook == before


@pytest.mark.parametrize(
    ("words", "rank", "said"),
    [((), None, "name: interrupted\n"), (("--parts",), "0", "name: interrupted\n"), (("--parts",), "1", "")],
)
def test_a_program_that_is_still_being_loaded_ends_with_one_line(words, rank, said):
    code = "import signal; from lanai_sim.signals import end_at_once; end_at_once('name'); signal.raise_signal(2)"
    environment = {**os.environ, **({} if rank is None else {"PMI_RANK": rank})}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env=environment, capture_output=True, text=True, check=False, timeout=20
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


# The installed programs: Ctrl-C before a command is loaded.

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
