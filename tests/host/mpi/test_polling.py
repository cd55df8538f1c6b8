"""Rows of polls that find nothing are told after a while, and their end."""

import pytest

from lanai_host.mpi import polling
from lanai_host.mpi.polling import FEW, LOOKS, SECONDS, Polls
from lanai_host.operation import Wait


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
