"""Progress: when the device's fast path may be used beside services and tasks."""

import pytest

from lanai_host.mpi import completion
from lanai_host.mpi.constants import UNDEFINED
from lanai_host.mpi.polling import FEW, VAIN, Polls
from lanai_host.mpi.progress import NEVER, SHARE, SHORTEST, Progress, Timed, timed_among
from lanai_host.mpi.request import Request
from lanai_host.operation import Operation, Wait
from lanai_host.stacks.ideal.device import IdealDevice, Solo


class Listener:
    """A service that listens for one operation after the other."""

    def __init__(self) -> None:
        self.request = Operation()
        self.taken = 0
        self.stopped = False

    def advance(self):
        if self.request.done:
            self.request = Operation()
            self.taken += 1
        return False

    def operations(self):
        return [self.request]

    def stop(self):
        self.stopped = True


class Chore:
    """A task that ends when it is told to."""

    ended = False

    def advance(self):
        return self.ended

    def operations(self):
        return []


@pytest.fixture
def progress():
    return Progress(IdealDevice(0, 1, Solo()))


def test_a_process_without_services_is_alone(progress):
    assert progress.alone()
    assert not NEVER.done


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("which", [0, -1])
def test_a_request_is_seen_until_its_service_has_taken_it(progress, count, which):
    services = [Listener() for _ in range(count)]
    for service in services:
        progress.serve(service)
        assert progress.alone()
    for turn in range(3):
        services[which].request.done = True
        assert not progress.alone()
        progress.poll()
        assert progress.alone()
        assert [service.taken for service in services if service is not services[which]] == [0] * (count - 1)
        assert services[which].taken == turn + 1


def test_a_task_is_seen_until_it_ends(progress):
    chore = Chore()
    progress.start(chore)
    assert not progress.alone()
    chore.ended = True
    progress.poll()
    assert progress.alone()


def test_stopped_services_are_not_asked_any_more(progress):
    service = Listener()
    progress.serve(service)
    progress.stop_services()
    service.request.done = True
    assert service.stopped
    assert progress.alone()


# Rows of polls that find nothing are told after a while, and their end.


class Target:
    def why(self):
        return Wait("MPI_Test", 1)


def missed(polls, count):
    for _ in range(count):
        polls.missed(Target())


def test_a_row_that_lasts_is_told_again_and_again_and_so_is_its_end():
    polls, told = Polls(), []
    polls.tell = told.append
    missed(polls, VAIN - 1)
    assert told == []
    missed(polls, 1)
    assert told == [Target().why()]
    missed(polls, VAIN)
    assert told == [Target().why()] * 2
    polls.found()
    polls.found()
    assert told == [Target().why(), Target().why(), None]


def test_a_poll_that_finds_something_begins_a_new_row():
    polls, told = Polls(), []
    polls.tell = told.append
    for _ in range(3):
        missed(polls, VAIN - 1)
        polls.found()
    assert told == []


def test_nobody_needs_to_hear_of_it():
    polls = Polls()
    missed(polls, 2 * VAIN)
    polls.found()


def test_polls_are_alike_that_ask_for_one_thing_at_equal_distances():
    polls, target = Polls(), Target()
    assert not polls.many
    for _ in range(FEW):
        polls.missed(target)
    assert polls.many
    assert polls.alike(target, 100) is None
    assert polls.alike(target, 110) is None
    assert [polls.alike(target, now) for now in (120, 130, 140)] == [(10, 1), (10, 2), (10, 4)]
    polls.passed(500)
    assert polls.alike(target, 510) == (10, 8)
    assert polls.alike(target, 521) is None  # something else took time
    assert polls.alike(target, 532) == (11, 1)
    assert polls.alike(Target(), 543) is None
    polls.found()
    assert not polls.many


# Waits for a time.


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


# The number of requests that the completion calls look at.


class Asked(Request):
    """A request that counts how often it is asked whether it is done."""

    looks = 0
    orders = None

    def __init__(self, done):
        self._done = done
        self.progress = self
        self.polls = Polls()
        self.missed = self.polls.missed

    def poll(self):
        pass

    @property
    def done(self):
        Asked.looks += 1
        return self._done


@pytest.fixture(autouse=True)
def fresh():
    Asked.looks = 0


@pytest.mark.parametrize("complete", [completion.wait_any, completion.test_any])
def test_nothing_behind_the_first_that_is_done_is_looked_at(complete):
    requests = [None, Asked(False), Asked(True), *(Asked(True) for _ in range(1000))]
    assert complete(requests)[-2] == 2
    assert Asked.looks == 2


def test_each_is_looked_at_once_before_and_once_after_the_device():
    assert completion.test_any([Asked(False) for _ in range(1000)])[:2] == (False, UNDEFINED)
    assert Asked.looks == 2000


def test_emptying_an_array_from_its_beginning_looks_at_each_once():
    requests = [Asked(True) for _ in range(1000)]
    for index in range(1000):
        assert completion.wait_any(requests)[0] == index
        requests[index] = None
    assert Asked.looks == 1000
