"""Puts and the record behind them, begun without waiting in between, by the driver."""

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Status
from lanai_sim.studies.remote_hosts import play

from .receiving import records

REMOTE = Remote()
NIC = lanai41().but(blocks=(REMOTE,))
FAULTS = ("drop * rate=0.05 seed=1", "reorder * rate=0.05 seed=2 by=20us")
PIECE = 3000
COUNT = 9
BAD = (4, 7)  # puts that leave the target's memory


@pytest.mark.parametrize("faults", [(), FAULTS])
def test_a_record_comes_only_behind_puts_that_are_there(faults):
    """All puts and records are under way together. The record behind the bad put does not come, nor
    any that was begun behind it."""
    given, ended = [], []

    def source(host):
        while not given:
            host.bus.elapse(1_000_000)
        running = []
        for n in range(COUNT):
            at = 0 if n in BAD else n * PIECE
            host.memory[n * PIECE : (n + 1) * PIECE] = bytes([n + 1]) * PIECE
            size = host.size if n in BAD else PIECE
            offset = host.tokens[1].size - 4 if n in BAD else at
            host.remote.put(host.tokens[1], offset, host.address + at, size, bound=True)
            record = host.remote.append(given[0], 0, host.address + n * PIECE, 1, conditional=True)
            running.append(record)
        while any(one.status is None for one in running):
            host.remote._take_ended()
        ended.extend(one.status for one in running)

    def target(host):
        seen = []
        for record in records(host, REMOTE.payload, given, ended, 100_000):
            n = record[0] - 1
            assert bytes(host.memory[n * PIECE : (n + 1) * PIECE]) == bytes([n + 1]) * PIECE
            seen.append(n)
        return seen

    assert play([source, target], NIC, faults=faults)[1] == list(range(BAD[0]))
    assert ended == [*[Status.OK] * 4, Status.BEFORE, *[Status.FULL] * 2, Status.BEFORE, Status.FULL]
