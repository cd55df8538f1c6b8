"""The signals that end a command."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import weakref

import pytest

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
