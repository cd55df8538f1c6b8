"""Switches come in a few sizes. What passes a larger one takes the same time."""

from dataclasses import replace

import pytest

from lanai_hdl.machine import host_offset
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine import fabrics
from lanai_sim.machine.fabrics.switches import star

from .test_faults import NIC, SENT, start

SENDERS = (0, 2)
RECEIVER = 1


@pytest.mark.parametrize(
    ("text", "nics", "ports"),
    [
        ("switch", 1, 2),
        ("switch", 2, 2),
        ("switch", 3, 4),
        ("switch", 5, 8),
        ("switch", 9, 16),
        ("switch", 16, 16),
        ("switches:2", 6, 4),
        ("switches:9", 9, 16),
        ("multicast", 5, 8),
    ],
)
def test_a_switch_has_the_next_size(text, nics, ports):
    assert fabrics.describe(text, nics).ports == ports


def arrivals(net):
    """Return when each packet of two NICs that send at once to a third has arrived there, and from whom."""
    cluster = Cluster(net, NIC, RtlEngine)
    arrived = []

    def sender(bus):
        out = bus.allocate(4096)
        start(bus, {1: out.bus_address, 2: 64, 3: net.route(bus.number, RECEIVER)})
        out.view[:64] = bytes([bus.number]) * 64
        bus.elapse(20_000_000 - bus.now)
        for _ in range(SENT):
            bus.write(host_offset("DOORBELL"), 1)
            bus.elapse(5_000_000)

    def receiver(bus):
        into, count = bus.allocate(4096), bus.allocate(4096)
        start(bus, {4: into.bus_address, 5: count.bus_address})
        seen = 0
        while seen < len(SENDERS) * SENT:
            seen = bus.wait_change(count, 0, seen)
            arrived.append((bus.now, into.view[0]))

    for number in SENDERS:
        cluster.spawn(number, sender)
    cluster.spawn(RECEIVER, receiver)
    cluster.run()
    cluster.close()
    return arrived


@pytest.mark.ci  # builds a switch that no other test has
def test_ports_that_lead_nowhere_move_no_packet_in_time():
    built = star(3)
    exact = arrivals(replace(built, ports=3))
    assert {sender for _, sender in exact} == set(SENDERS)
    assert arrivals(built) == exact
