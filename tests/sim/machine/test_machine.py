"""A machine is data: what users write becomes the parts, and JSON brings each part back."""

import json
import pickle
from dataclasses import replace
from functools import cache
from math import prod

import pytest

from lanai_hdl.config import PRESETS as OWN
from lanai_hdl.config import BlockedAction, NicConfig, lanai41
from lanai_hdl.machine import host_offset
from lanai_hdl.remote.config import Remote
from lanai_host.bus.base import PAGE_SIZE, BusError, Watched
from lanai_host.config import PRESETS as HOSTS
from lanai_host.config import HostConfig, HostCost, Queue, alpha21064
from lanai_host.errors import UserError
from lanai_sim.engines.base import FaultKind
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine import fabrics
from lanai_sim.machine.fabric import Fabric
from lanai_sim.machine.fabrics.grids import ring_hops
from lanai_sim.machine.fabrics.switches import pair, star
from lanai_sim.machine.faults import Fault, parse
from lanai_sim.machine.machine import Machine
from lanai_sim.machine.presets import PRESETS, t3d, t3d_barrier, t3e
from lanai_sim.machine.presets import PRESETS as NICS
from lanai_sim.studies.papers.claims import load

from .test_faults import NIC, SENT, start

FAULTS = (
    "drop nic0 packet=3",
    "drop * rate=0.25",
    "corrupt switch0.1 rate=0.01 seed=7 bit=5",
    "duplicate nic1 packet=0 seed=2",
    "delay nic0 packet=1 by=1234567ns",
    "reorder nic0 rate=0.1 seed=3 by=5us",
    "down nic1 from=1ps to=3ms",
)
OTHERS = [
    Machine(NicConfig(sram_size=131072, blocked_action=BlockedAction.RESET)),
    Machine(NicConfig(blocks=(Remote(peers=32),))),
    Machine(fabric="torus:2x2"),
    Machine(fabric=[("nic0", "switch0.1"), ("nic1", "switch0.3")]),
    Machine(host=HostConfig(queue=Queue.HASH, cpu_scale=0.1, match=7)),
    Machine(faults=FAULTS),
]
ALL = [Machine(), *map(Machine, NICS), *(Machine(host=name) for name in HOSTS), *OTHERS]


@pytest.mark.parametrize("machine", ALL)
def test_json_brings_a_machine_back(machine):
    assert Machine.from_json(machine.to_json()) == machine
    assert pickle.loads(pickle.dumps(machine)) == machine


def test_a_part_may_be_written_as_users_write_it():
    machine = Machine({"preset": "small_fpga", "link_latency": 16}, host={"match": 5}, faults=["drop nic0 packet=3"])
    assert (machine.nic.sram_size, machine.nic.link_latency, machine.host) == (131072, 16, HostConfig(match=5))
    assert machine.faults == (Fault(FaultKind.DROP, "nic0", packet=3),)
    assert machine.but(nic="t3d").nic == NICS["t3d"]()
    assert machine.but(nic="t3d").host == machine.host


def test_a_file_of_cables_is_read_at_once(tmp_path):
    path = tmp_path / "pair.toml"
    path.write_text('cables = [["nic0", "switch0.1"], ["nic1", "switch0.3"]]')
    machine = Machine(fabric=str(path))
    path.unlink()
    assert machine == Machine(fabric=[("nic0", "switch0.1"), ("nic1", "switch0.3")])
    assert json.loads(machine.to_json())["fabric"] == {"cables": [["nic0", "switch0.1"], ["nic1", "switch0.3"]]}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_is_written_as_it_is_read(text):
    assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({"nics": {}}, r"no key 'nics'; did you mean 'nic'\?"),
        ({"nic": {"sram_siz": 5}}, r"\[nic\] has no key 'sram_siz'; did you mean 'sram_size'\?"),
        ({"nic": {"remote": {"peers": 3}}}, r"\[nic\] of these NICs has no key 'remote'"),
        ({"nic": {"blocks": ["remote"], "remote": {"peer": 3}}}, r"has no key 'peer'; did you mean 'peers'\?"),
        ({"host": {"mach": 5}}, r"\[host\] has no key 'mach'; did you mean 'match'\?"),
        ({"host": {"match": "5"}}, "must be a whole number"),
        ({"faults": "drop nic0 packet=3"}, "write a list"),
        ({"fabric": {"cable": []}}, r"did you mean 'cables'\?"),
        ([], "must be a table"),
    ],
)
def test_json_that_is_no_machine_is_refused(document, complaint):
    with pytest.raises(UserError, match=complaint):
        Machine.from_json(json.dumps(document))


def test_text_that_is_no_json_is_refused():
    with pytest.raises(UserError, match="cannot be read from JSON: Expecting value"):
        Machine.from_json("nic: t3d")


def test_unknown_names_are_refused():
    with pytest.raises(UserError, match=r"nic 't3dd' is not known; did you mean 't3d'\?"):
        Machine("t3dd")
    with pytest.raises(UserError, match=r"Machine has no key 'hosts'; did you mean 'host'\?"):
        Machine().but(hosts="free")


# NICs that stand for the machine of a paper: what they were fitted on.


def test_the_gateware_s_own_presets_are_among_them():
    assert PRESETS.items() >= OWN.items()


def test_the_host_bus_of_the_t3d_carries_the_peak_that_the_paper_implies():
    """A line of 32 bytes takes its setup and a clock a word."""
    nic = t3d()
    clocks = nic.read_setup + 8 * nic.max_burst // nic.host_bus_bits
    (claim,) = (claim for claim in load("t3d") if claim.id == "t3d.s4.peak_derived")
    assert nic.max_burst * nic.host_bus_khz / clocks / 1000 == pytest.approx(claim.value, rel=0.01)


def test_the_t3e_is_the_same_nic():
    assert t3e() == t3d()


def test_the_barrier_tree_is_all_that_its_preset_adds():
    assert t3d_barrier().but(blocks=()) == t3d()


def test_nothing_is_pinned_on_the_t3d():
    host = alpha21064()
    assert [host.price(what) for what in (HostCost.PIN, HostCost.PIN_PAGE, HostCost.UNPIN_PAGE)] == [0, 0, 0]


# Memory that the processes of one host share: stores take effect at their time, and wake who waits
# for them.


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


# Meshes and tori: dimension-order routes that end where they should, are as short as they may be, and cannot
# deadlock.


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
