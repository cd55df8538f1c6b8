"""Meshes and tori: dimension-order routes that end where they should, are as short as they may be,
and cannot deadlock."""

from dataclasses import replace
from functools import cache
from math import prod

import pytest

from lanai_hdl.machine import host_offset
from lanai_host.errors import UserError
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine import fabrics
from lanai_sim.machine.fabric import Fabric
from lanai_sim.machine.fabrics.grids import ring_hops
from lanai_sim.machine.fabrics.switches import star

from .test_faults import NIC, SENT, start

# Follow route words through a fabric as its switches would.


@cache
def cable_ends(cables):
    """(unit, port) -> the unit and port at the other end."""
    ends = {}
    for cable in cables:
        ends[cable.unit, cable.port] = (cable.other_unit, cable.other_port)
        ends[cable.other_unit, cable.other_port] = (cable.unit, cable.port)
    return ends


def walk(net, source, dest):
    """Follow the route word hop by hop: the NIC it ends at, what is left of the word, and the
    switches passed."""
    ends = cable_ends(net.cables)
    word = net.route(source, dest)
    unit, _ = ends[source, 0]
    passed = []
    while unit >= net.nics:
        passed.append(unit)
        assert word >> 31
        count, port = word >> 28 & 7, word >> 24 & 15
        word = word - (1 << 28) if count else word << 8 & 0xFFFFFFFF
        unit, _ = ends[unit, port]
    return unit, word, passed


SHAPES = ["1", "2", "5", "2x2x2", "3x3x3", "4x3", "4x4x4", "8x4", "9x2", "1x6"]


@pytest.mark.parametrize("kind", ["torus", "mesh"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_route_ends_where_it_should_and_none_can_deadlock(kind, shape):
    nics = prod(map(int, shape.split("x")))
    net = fabrics.describe(f"{kind}:{shape}", nics)
    net.check()
    for source in range(nics):
        for dest in range(nics):
            reached, left, passed = walk(net, source, dest)
            assert (reached, left) == (dest, 0)
            assert len(set(passed)) == len(passed), "a switch is passed once"


@pytest.mark.parametrize("kind", ["torus", "mesh"])
@pytest.mark.parametrize("shape", ["4x4x4", "3x2", "8x2"])
def test_routes_are_as_short_as_a_search_finds_unless_a_ring_is_longer_than_four(kind, shape):
    sizes = [int(size) for size in shape.split("x")]
    net = fabrics.describe(f"{kind}:{shape}", prod(sizes))
    for source in range(net.nics):
        for dest in range(net.nics):
            ours, shortest = len(net.path(source, dest)), len(Fabric.path(net, source, dest))
            assert ours == shortest or (kind == "torus" and max(sizes) > 4 and shortest < ours <= prod(sizes))


@pytest.mark.parametrize("size", range(5, 12))
def test_in_a_long_ring_no_route_passes_through_coordinate_0(size):
    longer = 0
    for first in range(size):
        for end in range(size):
            hops = ring_hops(size, first, end)
            step = 1 if hops > 0 else -1
            between = [(first + step * n) % size for n in range(1, abs(hops))]
            assert (first + hops) % size == end
            assert 0 not in between
            longer += abs(hops) > size // 2
    assert longer, "some routes take the longer way"


def test_the_shortest_routes_of_a_large_torus_would_deadlock():
    """The rules of `Grid` prevent this: the same cables with a search's routes are refused, and the ring
    is named."""
    net = fabrics.describe("torus:5", 5)
    plain = Fabric("plain", net.nics, net.switches, net.ports, net.cables)
    with pytest.raises(UserError, match=r"can deadlock: .*switch0\.1, switch1\.1, switch2\.1, switch3\.1, switch4\.1"):
        plain.check()


def test_nodes_beyond_the_nics_have_a_switch_only():
    net = fabrics.describe("torus:4x4x4", 2)
    net.check()
    assert (net.nics, net.switches, net.ports) == (2, 64, 7)


@pytest.mark.parametrize(
    ("text", "nics", "complaint"),
    [
        ("torus:4x4", 17, "has 16 nodes for 17 NICs"),
        ("torus:4x", 2, "'torus:4x' is not understood; write sizes, such as torus:4x4x4"),
        ("mesh:", 2, "'mesh:' is not understood"),
        ("mesh:-2x2", 2, "'mesh:-2x2' is not understood"),
        ("mesh:2x2x2x2", 2, "has 4 dimensions; at most 3"),
        ("torus:0x4", 2, "has 0 nodes"),
        ("torus:100x100", 2, "has 10000 nodes; 1 to 512"),
        ("torus", 2, "write torus:XxYxZ"),
    ],
)
def test_what_cannot_be_is_refused(text, nics, complaint):
    with pytest.raises(UserError, match=complaint):
        fabrics.describe(text, nics)


def test_a_way_of_too_many_bytes_is_refused():
    with pytest.raises(UserError, match=r"passes 26 switches and takes 5 route bytes; a packet holds 4"):
        fabrics.describe("mesh:40", 40).check()


# Switches come in a few sizes. What passes a larger one takes the same time.

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
