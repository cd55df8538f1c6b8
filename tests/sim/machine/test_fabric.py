"""Fabrics: source routes, descriptions, refusals."""

import argparse
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.segment.config import Backoff
from lanai_host.errors import UserError
from lanai_sim.commands import run
from lanai_sim.engines.base import BarrierRole
from lanai_sim.machine import fabrics
from lanai_sim.machine.fabric import dependencies, find_cycle
from lanai_sim.machine.fabrics.grids import from_cables, parse_cables
from lanai_sim.machine.presets import ethernet10, mbcf_100baset, t3d, t3d_barrier

from .test_machine import cable_ends, walk


@pytest.mark.parametrize(
    ("text", "nics"),
    [
        ("switch", 1),
        ("switch", 8),
        ("switch", 20),
        ("switches:2", 5),
        ("switches:3", 7),
        ("switches:4", 40),
        ("segment", 9),
        ("ethernet", 3),
        ("ethernet-csma", 3),
        ("hub", 3),
        ("csma", 3),
        ("switching-hub", 3),
        ("ring", 5),
        ("multicast", 5),
    ],
)
def test_every_route_ends_where_it_should(text, nics):
    net = fabrics.describe(text, nics)
    for source in range(nics):
        for dest in range(nics):
            assert walk(net, source, dest)[:2] == (dest, 0)


def test_point_to_point_needs_no_hop():
    assert fabrics.describe("pair", 2).route(0, 1) == 0


def test_routes_take_the_shortest_way(tmp_path):
    ring = tmp_path / "ring.toml"
    ring.write_text(
        'cables = [["nic0", "switch0.0"], ["nic1", "switch1.0"], ["nic2", "switch2.0"],'
        ' ["switch0.1", "switch1.2"], ["switch1.1", "switch2.2"], ["switch2.1", "switch0.2"]]'
    )
    net = fabrics.describe(str(ring), 3)
    assert (net.switches, net.ports) == (3, 3)
    assert all(len(net.path(a, b)) == (1 if a == b else 2) for a in range(3) for b in range(3))
    assert all(walk(net, a, b)[:2] == (b, 0) for a in range(3) for b in range(3))


@pytest.mark.parametrize(
    ("text", "nics", "complaint"),
    [
        ("switch", 241, "241 NICs are too many for a tree of switches, which joins 240"),
        ("pair", 3, "joins 2 NICs, not 3"),
        (
            "hypercube",
            2,
            (
                "'hypercube' is not known; write csma, ethernet, ethernet-csma, hub, mesh:XxYxZ, multicast, pair, "
                "ring, segment, switch, switches:N, switching-hub, torus:XxYxZ or a .toml"
            ),
        ),
        ("pair:2", 2, "write pair$"),
        ("switches:two", 2, "such as switches:2"),
        ("switches:1", 2, "switches:1"),
        ("switches:2", 100, "ports a switch"),
        ("absent.toml", 2, "absent.toml"),
        ("segment", 17, "joins 1 to 16 NICs, not 17"),
        ("ring", 17, "joins 1 to 16 NICs, not 17"),
        ("multicast", 17, "joins 1 to 16 NICs, not 17"),
    ],
)
def test_what_cannot_be_is_refused(text, nics, complaint):
    with pytest.raises(UserError, match=complaint):
        fabrics.describe(text, nics)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("wires = []", "unknown keys wires"),
        ('cables = [["nic0", "switch0.0"]]', "no cable .* goes to nic1"),
        ('cables = [["nic0", "switch0.0"], ["nic1", "switch0.0"]]', "two cables .* port 0 of switch0"),
        ('cables = [["nic0", "nicked"]]', "cable end 'nicked'"),
        ('cables = [["nic0"]]', "write two ends"),
        ('cables = [["nic0", "switch0.0"], ["nic1", "switch0.99999999999"]]', r"cable end 'switch0\.99999999999'"),
        (
            'cables = [["nic0", "switch0.0"], ["nic1", "switch0.16"]]',
            "'switch0.16' .* is not there; .* ports from 0 to 15",
        ),
        (
            'cables = [["nic0", "switch99999999.0"], ["nic1", "switch99999999.1"]]',
            "'switch99999999.0' .* is not there; switches are numbered from 0 to 511",
        ),
        ('cables = [["nic0", "nic1234567890"]]', "cable end 'nic1234567890'"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, text, complaint):
    path = tmp_path / "fabric.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=complaint):
        fabrics.describe(str(path), 2)


def test_islands_and_long_ways_are_refused():
    islands = from_cables("islands", 2, parse_cables("", [["nic0", "switch0.0"], ["nic1", "switch1.0"]]))
    with pytest.raises(UserError, match="no way from nic0 to nic1"):
        islands.route(0, 1)
    chain = [["nic0", "switch0.0"], ["nic1", "switch4.0"]]
    chain += [[f"switch{n}.{1 + n % 2}", f"switch{n + 1}.{1 + n % 2}"] for n in range(4)]
    with pytest.raises(UserError, match="passes 5 switches and takes 5 route bytes; a packet holds 4"):
        from_cables("chain", 2, parse_cables("", chain)).route(0, 1)


def test_a_ring_of_cables_that_can_deadlock_is_refused_with_the_outputs_that_wait_for_each_other(tmp_path):
    cables = [[f"nic{n}", f"switch{n}.0"] for n in range(5)]
    cables += [[f"switch{n}.1", f"switch{(n + 1) % 5}.2"] for n in range(5)]
    net = from_cables("ring.toml", 5, parse_cables("", cables))
    with pytest.raises(
        UserError, match=r"'ring.toml' can deadlock: .*switch0\.1, switch1\.1, .*leave out a cable"
    ) as told:
        net.check()
    assert str(told.value).count("switch") == 6  # five outputs, and the word itself
    from_cables("line.toml", 5, parse_cables("", cables[:-1])).check()


def test_the_command_line_names_every_kind():
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    for name in fabrics.names():
        assert fabrics.kind(name).usage in parser.format_help()
        assert fabrics.kind(name).help


def test_an_ethernet_has_its_own_rate_and_a_segment_that_of_the_links():
    """Gap: 62 byte times at the wire's rate."""
    segment, ethernet = (fabrics.describe(name, 3).layout(lanai41()).switch for name in ("segment", "ethernet"))
    assert (segment.nic.link_kbytes, ethernet.nic.link_kbytes) == (lanai41().link_kbytes, 1250)
    assert (segment.frame.gap, ethernet.frame.gap) == (26, 3274)
    assert segment.ports == 4  # few sizes, so that few models are built


def test_a_hub_with_collisions_differs_in_nothing_else():
    """In units of 64 bytes at the wire's rate; a collision loses a preamble, a jam and a gap."""
    turns, collides = (fabrics.describe(name, 2).layout(mbcf_100baset()).switch for name in ("hub", "csma"))
    assert turns.backoff is None
    assert collides.backoff == Backoff(slot=64 * 2, collision=(12 + 12) * 2)  # a byte is two slots
    assert replace(collides, backoff=None) == turns


def test_an_ethernet_with_collisions_differs_in_nothing_else():
    turns, collides = (fabrics.describe(name, 2).layout(ethernet10()).switch for name in ("ethernet", "ethernet-csma"))
    assert turns.backoff is None
    assert collides.backoff is not None
    assert replace(collides, backoff=None) == turns


@pytest.mark.parametrize(
    "text",
    [
        "pair",
        "segment",
        "hub",
        "csma",
        "switching-hub",
        "ring",
        "ethernet",
        "ethernet-csma",
        "multicast",
    ],
)
def test_a_fabric_without_the_barrier_tree_is_refused_by_name(text):
    net = fabrics.describe(text, 2)
    net.check_nics(t3d())
    with pytest.raises(UserError, match=rf"fabric '{text}' has no barrier tree.*take switch, switches:N"):
        net.check_nics(t3d_barrier())


def test_a_switch_combines_the_bits_of_the_ports_that_have_nics(tmp_path):
    net = fabrics.describe("switch", 3)
    net.check_nics(t3d_barrier())
    assert net.layout(t3d_barrier()).switch.barrier == 0b111
    assert net.layout(t3d()).switch.barrier == 0
    file = tmp_path / "star.toml"
    file.write_text('cables = [["nic0", "switch0.3"], ["nic1", "switch0.1"]]')
    assert fabrics.describe(str(file), 2).layout(t3d_barrier()).switch.barrier == 0b1010


# Dependencies between channels: a cycle is found if and only if there is one.

channels = st.tuples(st.integers(0, 7), st.just(0))


@given(st.lists(st.lists(channels, max_size=4, unique=True), max_size=8))
def test_a_cycle_is_found_exactly_if_there_is_one(routes):
    follows = dependencies(routes)
    ring = find_cycle(follows)
    try:
        tuple(TopologicalSorter(follows).static_order())
    except CycleError:
        assert ring
    else:
        assert not ring
    for channel, following in zip(ring, ring[1:] + ring[:1], strict=True):
        assert following in follows[channel]


def test_a_route_makes_each_channel_wait_for_the_next():
    assert dependencies([[(5, 1), (6, 1), (7, 2)], [(5, 1), (6, 3)]]) == {
        (5, 1): [(6, 1), (6, 3)],
        (6, 1): [(7, 2)],
        (7, 2): [],
        (6, 3): [],
    }


# The switches that a barrier tree joins, and the ports by which it does.


def layout(text, nics):
    return fabrics.describe(text, nics).layout(t3d_barrier())


@pytest.mark.parametrize(
    ("text", "nics"),
    [("switches:2", 2), ("switches:4", 40), ("switch", 40), ("torus:4x4x4", 64), ("torus:2x2x2", 5),
     ("torus:3x1x1", 3), ("mesh:8", 8), ("mesh:4x4", 3)],
)  # fmt: skip
def test_each_nic_has_one_way_to_the_one_top(text, nics):
    net = layout(text, nics)
    ends = cable_ends(net.cables)
    tops = [n for n, role in enumerate(net.barrier) if role.members and not role.parent]
    assert len(tops) == 1
    reached = []

    def descend(switch, entry):
        role = net.barrier[switch - nics]
        assert role.parent == entry
        assert role.members
        for port in range(net.switch.ports):
            if role.members >> port & 1:
                assert not role.parent >> port & 1
                unit, there = ends[switch, port]
                if unit < nics:
                    reached.append(unit)
                else:
                    descend(unit, 1 << there)

    descend(nics + tops[0], 0)
    assert sorted(reached) == list(range(nics))


def test_the_top_is_in_the_middle():
    """NICs 0 to 6 on a line: node 3 is three cables from both ends."""
    assert [role.parent for role in layout("mesh:7", 7).barrier].index(0) == 3


def test_switches_without_nics_below_them_have_no_part():
    net = layout("mesh:4", 2)
    assert net.barrier[2:] == (BarrierRole(0, 0),) * 2


def test_a_switch_that_no_cable_leads_to_is_not_the_top(tmp_path):
    file = tmp_path / "lone.toml"
    file.write_text('cables = [["nic0", "switch1.0"], ["nic1", "switch2.1"], ["switch1.2", "switch2.2"]]')
    assert layout(str(file), 2).barrier == (BarrierRole(0, 0), BarrierRole(0b101, 0), BarrierRole(0b010, 0b100))


def test_one_switch_needs_no_inputs_for_its_part():
    net = layout("switch", 3)
    assert (net.barrier, net.switch.cascaded) == ((), False)


def test_nics_without_the_block_have_switches_without_it():
    net = fabrics.describe("torus:2x2x1", 4).layout(t3d())
    assert (net.barrier, net.switch.barrier, net.switch.cascaded) == ((), 0, False)
    assert isinstance(net.nic, NicConfig)
