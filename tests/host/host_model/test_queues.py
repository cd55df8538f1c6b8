"""The queues of devices that match on the host: MPI's order, and work that does not grow with their length."""

import random

import pytest

from lanai_host.host_model.matcher import Posted, Unexpected
from lanai_host.operation import ANY_SOURCE, ANY_TAG


class Entry:
    """An entry that counts how often any entry's tag was looked at."""

    looks = made = 0

    def __init__(self, source, tag):
        Entry.made += 1
        self.source, self._tag, self.order = source, tag, Entry.made

    @property
    def tag(self):
        Entry.looks += 1
        return self._tag


def matches(receive, message):
    return receive.source in (message.source, ANY_SOURCE) and receive.tag in (message.tag, ANY_TAG)


@pytest.mark.parametrize("seed", range(20))
def test_the_oldest_match_is_taken(seed):
    rng = random.Random(seed)
    posted, unexpected = Posted(), Unexpected()
    receives, messages = [], []  # the same as plain lists
    for _ in range(400):
        if rng.random() < 0.5:
            message = Entry(rng.randrange(3), rng.randrange(4))
            expected = next((receive for receive in receives if matches(receive, message)), None)
            assert posted.take(message.source, message.tag)[0] is expected
            if expected is None:
                messages.append(message)
                unexpected.add(message)
            else:
                receives.remove(expected)
        else:
            receive = Entry(rng.choice([0, 1, 2, ANY_SOURCE]), rng.choice([0, 1, 2, 3, ANY_TAG]))
            expected = next((message for message in messages if matches(receive, message)), None)
            assert unexpected.find(receive.source, receive.tag)[0] is expected
            if expected is None:
                receives.append(receive)
                posted.add(receive)
            else:
                messages.remove(expected)
                unexpected.remove(expected)
        if receives and rng.random() < 0.1:  # cancelled
            gone = receives.pop(rng.randrange(len(receives)))
            posted.remove(gone)
        assert (len(posted), len(unexpected)) == (len(receives), len(messages))


def looks(meet, count):
    before = Entry.looks
    meet(count)
    return Entry.looks - before


@pytest.mark.parametrize("source", [0, ANY_SOURCE])
def test_receives_met_in_reverse_order(source):
    def meet(count):
        posted = Posted()
        receives = [Entry(source, tag) for tag in range(count)]
        for receive in receives:
            posted.add(receive)
        for tag in reversed(range(count)):
            assert posted.take(0, tag) == (receives[tag], 1)

    assert looks(meet, 4000) == 4 * looks(meet, 1000)


@pytest.mark.parametrize("source", [0, ANY_SOURCE])
def test_messages_taken_in_reverse_order(source):
    def meet(count):
        unexpected = Unexpected()
        for tag in range(count):
            unexpected.add(Entry(0, tag))
        for tag in reversed(range(count)):
            unexpected.remove(unexpected.find(source, tag)[0])

    assert looks(meet, 4000) == 4 * looks(meet, 1000)


def test_receives_cancelled_in_reverse_order():
    def meet(count):
        posted = Posted()
        receives = [Entry(0, 7) for _ in range(count)]
        for receive in receives:
            posted.add(receive)
        for receive in reversed(receives):
            posted.remove(receive)
        assert not posted

    assert looks(meet, 4000) == 4 * looks(meet, 1000)


def test_posted_receives_are_told_in_their_order():
    queue = Posted()
    receives = [Entry(source, tag) for source, tag in ((1, 2), (ANY_SOURCE, 3), (1, 2), (0, ANY_TAG))]
    for receive in receives:
        queue.add(receive)
    queue.remove(receives[1])
    assert list(queue) == [receives[0], *receives[2:]]
