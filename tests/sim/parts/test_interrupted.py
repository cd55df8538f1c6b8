"""A signal that comes while a part waits for others, in native code."""

import signal

import pytest

from lanai_sim.kernel.kernel import Interrupted
from lanai_sim.parts.clockwork import PartKernel
from lanai_sim.parts.links import PartLinks
from lanai_sim.parts.run import PartRun


class NoLinks(PartLinks):
    waited = 0.0

    def leave(self):
        pass

    def sizes(self):
        return []


class Alone:
    """The only part."""

    def __init__(self):
        self.links = NoLinks()


def run_of(runs):
    """Return a run in which no rank has begun. `runs`: simulated time goes on."""
    made = PartRun.__new__(PartRun)
    made.kernel, made.simulating = PartKernel(Alone()), False
    made.kernel.runs = runs
    return made


def test_an_exception_that_native_code_has_lost_was_a_signal():
    with pytest.raises(KeyboardInterrupt):
        NoLinks().fail()


def test_the_scheduler_ends_a_boot():
    made = run_of(runs=True)
    made._signal(signal.SIGINT, None)
    with pytest.raises(Interrupted, match="SIGINT"):
        made.kernel.part.links.check()
    with pytest.raises(KeyboardInterrupt):  # a second signal does not wait for the scheduler
        made._signal(signal.SIGINT, None)


def test_outside_the_scheduler_a_signal_ends_the_run_at_once():
    with pytest.raises(KeyboardInterrupt):
        run_of(runs=False)._signal(signal.SIGINT, None)
