"""Polls that the simulator does for a rank, over words of this process."""

import pytest

from lanai_host.simulator.requests import Look
from lanai_sim.engines.words import Words
from lanai_sim.job.rank_service import Refused, known_polls

POLL, NOTING = 1000, 50


class Memory:
    """Words that hold 0 at first."""

    def __init__(self, count: int) -> None:
        self.view = memoryview(bytearray(4 * count))

    def words(self):
        return Words.of([(at, 0, self.view[at : at + 4]) for at in range(0, len(self.view), 4)])

    def set(self, number: int, value: int) -> None:
        self.view[4 * number : 4 * number + 4] = value.to_bytes(4, "big")


def polled(memory, place=-1, value=0, decisive=0):
    return known_polls(Look(POLL, place, value, NOTING, 1, decisive), memory.words())


def test_a_poll_does_nothing_until_a_word_has_changed():
    memory = Memory(2)
    poll = polled(memory)
    assert (poll.first(), poll.polls) == (POLL, 1)
    memory.set(1, 7)
    assert (poll.first(), poll.again(), poll.polls) == (None, None, 1)


def test_a_word_is_noted_once_and_only_if_no_other_has_changed():
    memory = Memory(2)
    poll = polled(memory, place=0, value=5)
    memory.set(0, 5)
    assert (poll.again(), poll.noted, len(poll.words)) == (POLL + NOTING, 1, 1)
    assert poll.again() is None
    other = polled(memory, place=0, value=5)
    memory.set(1, 1)
    assert (other.again(), other.noted) == (None, 0)
    assert polled(Memory(2), place=0, value=5).again() is None  # its time was up


def test_a_word_that_does_not_decide_may_change_again_and_again():
    memory = Memory(2)
    poll = polled(memory, decisive=1)
    memory.set(0, 3)
    assert (poll.first(), [word.seen for word in poll.words]) == (POLL, [3])
    assert poll.again() is None  # its time was up
    for value in (4, 5):
        memory.set(0, value)
        assert (poll.again(), [word.seen for word in poll.words]) == (POLL, [value])
    memory.set(1, 1)
    memory.set(0, 6)
    assert (poll.again(), poll.first(), poll.polls) == (None, None, 3)


@pytest.mark.parametrize(
    ("count", "place", "decisive", "text"),
    [
        (2, -1, 2, "2 of 2 words cannot be decisive: a wait needs another one"),
        (2, -1, 3, "3 of 2 words cannot be decisive"),
        (1, 0, 0, "word 0 of 1 cannot be noted"),
        (3, 0, 1, "word 0 of 2 cannot be noted"),
        (2, 2, 0, "word 2 of 2 cannot be noted"),
        (2, -2, 0, "word -2 of 2 cannot be noted"),
    ],
)
def test_what_cannot_be_is_refused(count, place, decisive, text):
    with pytest.raises(Refused, match=text):
        polled(Memory(count), place=place, decisive=decisive)
