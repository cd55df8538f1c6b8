"""Waits for a time."""

from lanai_host.mpi.progress import SHARE, SHORTEST, Timed, timed_among


class Clock:
    now = 0

    def __call__(self):
        return self.now


def test_a_sleep_is_done_when_its_time_has_come():
    clock = Clock()
    sleep = Timed(clock, 1000)
    assert not sleep.done
    assert sleep.step(0, alone=True) == 1000
    clock.now = 1000
    assert sleep.done
    assert not sleep.was_ready


def test_a_wait_with_a_time_limit_ends_when_what_it_is_for_is_ready():
    ready = []
    wait = Timed(Clock(), 1000, lambda: bool(ready))
    assert not wait.done
    ready.append(True)
    assert wait.done
    ready.clear()
    assert wait.done, "what was ready once may not be so again"
    assert wait.was_ready


def test_looks_become_rarer_while_something_is_waited_for():
    clock = Clock()
    wait = Timed(clock, 10**12, lambda: False)
    assert wait.step(0, alone=True) == SHORTEST
    clock.now = 10**11
    assert wait.step(0, alone=True) == 10**11 // SHARE
    assert wait.step(10**11, alone=True) == SHORTEST
    clock.now = 10**12 - 5
    assert wait.step(0, alone=False) == 5


def test_waits_that_have_ended_are_not_among_the_timed_ones():
    clock = Clock()
    sleeps = [Timed(clock, until) for until in (1, 0)]
    assert timed_among([*sleeps, object()]) == sleeps[:1]
