"""What a receiver tells a peer whose records its FIFO refused."""

from unittest.mock import Mock

import pytest

from lanai_host.stacks.mbcf.receiving import Inbox, Receiving


@pytest.fixture
def box():
    return Inbox(1, Mock(refused=None), Mock(), 64)


@pytest.fixture
def receiving():
    return Receiving(Mock(), Mock(), Mock(), Mock(), Mock(), Mock(), 1024)


def told(receiving):
    return receiving._jobs.add.call_count


def test_a_refusal_is_told_once(box, receiving):
    receiving._tell_room(box)
    assert told(receiving) == 0
    box.fifo.refused = 4096
    receiving._tell_room(box)
    receiving._tell_room(box)
    assert (told(receiving), box.times) == (1, 1)


def test_the_next_refusal_is_told_also_at_the_same_count(box, receiving):
    """Counts of bytes wrap at 1 MiB. A record that is taken in between tells the two apart."""
    box.fifo.refused = 4096
    receiving._tell_room(box)
    box.drop()
    box.fifo.drop.assert_called_once_with()
    receiving._tell_room(box)
    assert (told(receiving), box.times) == (2, 2)
