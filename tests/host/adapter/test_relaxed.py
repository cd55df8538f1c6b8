"""Puts and stores in relaxed order, by the driver, on wires that reorder packets."""

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_sim.studies.remote_hosts import play

NIC = lanai41().but(blocks=(Remote(streams=4),))
SIZE = 8 * 4096
LATE = ("reorder * rate=0.05 seed=1 by=20us",)


def moved(what, relaxed):
    """Requests that the target has dropped, and answers that did not come in time."""
    content = bytes(range(1, 252)) * (SIZE // 251 + 1)

    def source(host):
        host.memory[:SIZE] = content[:SIZE]
        if what == "put":
            host.remote.put(host.tokens[1], 0, host.address, SIZE, relaxed=relaxed)
        else:
            host.remote.store(host.tokens[1], 0, content[:SIZE], relaxed=relaxed)
        host.remote.settle()
        return host.counter("REMOTE_TIMEOUTS")

    def target(host):
        while bytes(host.memory[:SIZE]) != content[:SIZE]:
            host.bus.elapse(1_000_000)
        return host.counter("REMOTE_AHEAD")

    return play([source, target], NIC, faults=LATE)


@pytest.mark.parametrize("what", ["put", "store"])
def test_relaxed_packets_that_overtake_each_other_are_not_sent_again(what):
    assert moved(what, relaxed=True) == [0, 0]
    timeouts, dropped = moved(what, relaxed=False)
    assert timeouts > 0
    assert dropped > 0


def test_what_is_begun_behind_relaxed_puts_comes_after_them():
    """The last word of the target's memory is written in order, and never before all others are."""

    def source(host):
        host.memory[:SIZE] = b"\x55" * SIZE
        for at in range(0, SIZE - 4096, 4096):
            host.remote.put(host.tokens[1], at, host.address, 4096, relaxed=True)
        host.remote.put(host.tokens[1], SIZE - 4, host.address, 4)
        host.remote.settle()

    def target(host):
        while not any(host.memory[SIZE - 4 : SIZE]):
            host.bus.elapse(100_000)
        return bytes(host.memory[: SIZE - 4096])

    assert play([source, target], NIC, faults=LATE)[1] == b"\x55" * (SIZE - 4096)
