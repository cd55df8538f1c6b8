"""The number of requests that the completion calls look at."""

import pytest

from lanai_host.mpi import completion
from lanai_host.mpi.constants import UNDEFINED
from lanai_host.mpi.polling import Polls
from lanai_host.mpi.request import Request


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
