"""Fabrics: source routes, descriptions, refusals."""

import pytest

from lanai_host.errors import UserError
from lanai_sim.machine import fabric


def walk(net, source, dest):
    """Follow a route word hop by hop; the NIC it ends at, and what is left of it."""
    ends = {}
    for cable in net.cables:
        ends[cable.unit, cable.port] = (cable.other_unit, cable.other_port)
        ends[cable.other_unit, cable.other_port] = (cable.unit, cable.port)
    word = net.route(source, dest)
    unit, _ = ends[source, 0]
    while unit >= net.nics:
        assert word >> 31
        port, word = word >> 24 & 0x7F, word << 8 & 0xFFFFFFFF
        unit, _ = ends[unit, port]
    return unit, word


@pytest.mark.parametrize(
    ("text", "nics"),
    [("switch", 1), ("switch", 8), ("switch", 20), ("switches:2", 5), ("switches:3", 7), ("switches:4", 40)],
)
def test_every_route_ends_where_it_should(text, nics):
    net = fabric.describe(text, nics)
    for source in range(nics):
        for dest in range(nics):
            assert walk(net, source, dest) == (dest, 0)


def test_point_to_point_needs_no_hop():
    assert fabric.describe("pair", 2).route(0, 1) == 0


def test_routes_take_the_shortest_way(tmp_path):
    ring = tmp_path / "ring.toml"
    ring.write_text(
        'cables = [["nic0", "switch0.0"], ["nic1", "switch1.0"], ["nic2", "switch2.0"],'
        ' ["switch0.1", "switch1.2"], ["switch1.1", "switch2.2"], ["switch2.1", "switch0.2"]]'
    )
    net = fabric.describe(str(ring), 3)
    assert (net.switches, net.ports) == (3, 3)
    assert all(len(net.path(a, b)) == (1 if a == b else 2) for a in range(3) for b in range(3))
    assert all(walk(net, a, b) == (b, 0) for a in range(3) for b in range(3))


@pytest.mark.parametrize(
    ("text", "nics", "complaint"),
    [
        ("pair", 3, "joins 2 NICs, not 3"),
        ("mesh", 2, "'mesh' is not known"),
        ("switches:1", 2, "switches:1"),
        ("switches:2", 100, "ports a switch"),
        ("absent.toml", 2, "absent.toml"),
    ],
)
def test_what_cannot_be_is_refused(text, nics, complaint):
    with pytest.raises(UserError, match=complaint):
        fabric.describe(text, nics)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("wires = []", "unknown keys wires"),
        ('cables = [["nic0", "switch0.0"]]', "no cable .* goes to nic1"),
        ('cables = [["nic0", "switch0.0"], ["nic1", "switch0.0"]]', "two cables .* port 0 of switch0"),
        ('cables = [["nic0", "nicked"]]', "cable end 'nicked'"),
        ('cables = [["nic0"]]', "write two ends"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, text, complaint):
    path = tmp_path / "fabric.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=complaint):
        fabric.describe(str(path), 2)


def test_islands_and_long_ways_are_refused():
    islands = fabric.from_cables("islands", 2, fabric.parse_cables("", [["nic0", "switch0.0"], ["nic1", "switch1.0"]]))
    with pytest.raises(UserError, match="no way from nic0 to nic1"):
        islands.route(0, 1)
    chain = [["nic0", "switch0.0"], ["nic1", "switch4.0"]]
    chain += [[f"switch{n}.1", f"switch{n + 1}.2"] for n in range(4)]
    with pytest.raises(UserError, match="takes 5 switches; a route holds 4"):
        fabric.from_cables("chain", 2, fabric.parse_cables("", chain)).route(0, 1)
