"""The reports of a receiver to a peer whose records its FIFO refused."""

from unittest.mock import Mock

import pytest

from lanai_host.config import HostConfig
from lanai_host.host_model.meter import Ledger, Meter
from lanai_host.stacks.mbcf.receiving import Inbox, Receiving

PEER = 1


class Fifo:
    """So many records of a byte; where it began to refuse, if it does."""

    def __init__(self):
        self.records, self.refused = 0, None

    def look(self):
        return self.records > 0

    def record(self):
        return memoryview(b".")

    def drop(self):
        self.records -= 1


@pytest.fixture
def receiving():
    jobs, matching = Mock(), Mock(any_source=[])
    made = Receiving(Meter(HostConfig(), Mock()), jobs, matching, Mock(), Mock(), 1024, Ledger(0))
    long = Mock(receive=None, data=bytearray(8), here=0, whole=False)  # of which all records are
    made.boxes[PEER] = Inbox(PEER, Fifo(), Mock(), 64, message=long)
    return made


def told(receiving, records, refused):
    """Return how often the peer has been told that there is room, once these records were taken."""
    fifo = receiving.boxes[PEER].fifo
    fifo.records, fifo.refused = records, refused
    receiving.look()
    assert fifo.records == 0
    return receiving._jobs.add.call_count


def test_a_refusal_is_told_once(receiving):
    assert told(receiving, 1, None) == 0
    assert told(receiving, 1, 4096) == 1
    assert told(receiving, 0, 4096) == 1


def test_the_next_refusal_is_told_also_at_the_same_count(receiving):
    """Counts of bytes wrap at 1 MiB. A record that came in between tells the two apart."""
    assert told(receiving, 1, 4096) == 1
    assert told(receiving, 1, 4096) == 2
