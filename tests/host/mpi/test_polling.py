"""Rows of polls that find nothing are told after a while, and their end."""

import pytest

from lanai_host.mpi import polling
from lanai_host.mpi.polling import LOOKS, SECONDS, Polls
from lanai_host.wait import Wait


class Target:
    def why(self):
        return Wait("MPI_Test", 1)


@pytest.fixture
def clock(monkeypatch):
    """The time that the library sees, in a list of one."""
    now = [100.0]
    monkeypatch.setattr(polling.real_time, "monotonic", lambda: now[0])
    return now


def rows(polls, count):
    for _ in range(count * LOOKS):
        polls.missed(Target())


def test_a_row_that_lasts_is_told_again_and_again_and_so_is_its_end(clock):
    polls, told = Polls(), []
    polls.tell = told.append
    rows(polls, 1)
    clock[0] += SECONDS - 1
    rows(polls, 1)
    assert told == []
    clock[0] += 1
    rows(polls, 2)
    assert told == [Target().why()]
    clock[0] += SECONDS
    rows(polls, 1)
    assert told == [Target().why()] * 2
    polls.found()
    polls.found()
    assert told == [Target().why(), Target().why(), None]


def test_a_poll_that_finds_something_begins_a_new_row(clock):
    polls, told = Polls(), []
    polls.tell = told.append
    for _ in range(3):
        rows(polls, 1)
        clock[0] += SECONDS - 1
        polls.found()
    rows(polls, 2)
    assert told == []


def test_nobody_needs_to_hear_of_it(clock):
    polls = Polls()
    rows(polls, 1)
    clock[0] += SECONDS
    rows(polls, 2)
    polls.found()
