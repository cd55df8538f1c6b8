"""Memory that the processes of one host share: stores take effect at their time, and wake who waits
for them."""

import pytest

from lanai_hdl.config import lanai41
from lanai_host.bus.base import PAGE_SIZE, BusError, Watched
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine.fabrics.switches import pair


def test_a_store_wakes_only_what_waits_for_the_word():
    shared, woken = [], []

    def owner(bus):
        memory, own = bus.allocate(PAGE_SIZE, shared=True), bus.allocate(PAGE_SIZE)
        shared.extend((memory.bus_address, own.bus_address))
        bus.wait_any([Watched(memory, 8, bytes(4))])
        woken.append((bus.now, bytes(memory.view[:12])))

    def other(bus):
        for offset in (4, 8):
            bus.elapse(5_000_000)
            bus.store(shared[0] + offset, b"abcd")
            assert bus.now == (offset // 4) * 5_000_000
        for wrong in (shared[0] - 1, shared[0] + PAGE_SIZE - 3, shared[1]):  # the last is not shared
            with pytest.raises(BusError, match=f"4 bytes at bus address {wrong:#x} are in no memory"):
                bus.store(wrong, b"abcd")

    def elsewhere(bus):
        bus.elapse(1_000_000)
        with pytest.raises(BusError, match="no memory that a process of this host shares"):
            bus.store(shared[0], b"abcd")

    cluster = Cluster(pair(), lanai41())
    try:
        for node, program in ((0, owner), (0, other), (1, elsewhere)):
            cluster.spawn(node, program)
        cluster.run()
    finally:
        cluster.close()
    assert woken == [(10_000_000, bytes(4) + b"abcdabcd")]
