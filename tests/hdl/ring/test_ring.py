"""The ring in Amaranth's simulator: packets of random nodes to random nodes."""

import inspect
import random

import pytest
from amaranth import Module, Signal
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring
from tests.hdl import wire
from tests.hdl.wire import Node, Simulated, nic, packet

from lanai_hdl.errors import UserError
from lanai_hdl.link.flit import Kind
from lanai_hdl.ring import inserter, sends, stripper
from lanai_hdl.ring.config import RingConfig
from lanai_hdl.ring.inserter import Inserter
from lanai_hdl.ring.ring import COUNTERS, Ring
from lanai_hdl.ring.sends import Sends
from lanai_hdl.ring.stripper import Stripper

PACKET = 12  # most flits of a packet


def small(ports=4, *, link_kbytes=264_000, **changes):
    return RingConfig(**{"ports": ports, "nic": nic(link_kbytes), "packet": PACKET, "hop": 2} | changes)


def run(config, nodes, seed=1):
    """Turn a ring. Return its counters."""
    counters = Simulated(Ring(config)).turn(nodes, COUNTERS, seed=seed)
    assert all(left == 0 and sound for node in nodes for left, _, sound in node.packets), "whole, every hop is spent"
    return counters


def numbered(source, target, count, chance):
    """Return packets from one node to another; their words contain source and number."""
    return [
        (target, [source << 16 | number, *(chance.getrandbits(32) for _ in range(chance.randrange(PACKET - 3)))])
        for number in range(count)
    ]


def traffic(ports, count, seed):
    """Return the packets of each node, in order: (target, words)."""
    chance = random.Random(seed)
    found = []
    for source in range(ports):
        packets = [numbered(source, target, count, chance) for target in range(ports)]
        order = [target for target in range(ports) for _ in range(count)]
        chance.shuffle(order)
        found.append([packets[target].pop(0) for target in order])
    return found


def played(config, count, seed, **node):
    """Random traffic: every packet comes once, whole, and those of one source in order. The
    counters."""
    sent = traffic(config.ports, count, seed)
    nodes = [Node([flit for dest, words in one for flit in packet(words, dest)], **node) for one in sent]
    counters = run(config, nodes, seed)
    for target, at in enumerate(nodes):
        for source, packets in enumerate(sent):
            expected = [words for dest, words in packets if dest == target]
            assert [words for _, words, _ in at.packets if words[0] >> 16 == source] == expected
    return counters


@pytest.mark.parametrize(
    ("config", "node"),
    [
        (small(2, hop=1, sends=1, receives=1), {"gap": 0.3}),
        pytest.param(small(), {}, marks=pytest.mark.slow),
        pytest.param(small(3, link_kbytes=100_000), {}, marks=pytest.mark.slow),
    ],
)
def test_every_packet_arrives_once_and_in_order(config, node):
    counters = played(config, 3, 1, **node)
    assert counters["bad_routes"] == counters["strays"] == counters["dropped"] == 0


def test_a_refused_packet_is_sent_again():
    assert played(small(2, receives=1), 5, 2, stop=0.85)["retries"] > 5


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_none_overtakes_a_refused_packet(seed):
    """While the echo of a refused packet is on its way, others are ready to be sent."""
    assert played(small(2, receives=1, sends=4, hop=6), 6, seed, stop=0.85)["retries"] > 5


def test_packets_that_cannot_be_sent_are_dropped_and_counted():
    words, longest = [1, 2, 3], list(range(PACKET - 2))
    bad = [(Kind.DATA, 5)]  # outside a packet
    bad += packet(words, 9)  # no such node
    bad += packet([*longest, 4], 1)  # a flit too long
    bad += packet(words, 1)[:2]  # no TAIL
    nodes = [Node(bad + packet(longest, 1)), Node()]
    assert run(small(2), nodes) == {"bad_routes": 1, "strays": 1, "dropped": 2, "retries": 0}
    assert [words for _, words, _ in nodes[1].packets] == [longest]


def shares(hold_after, count=16):
    """Return the shares of three nodes that send to the fourth more than its link carries: packets of
    each among the first half. Those of the first pass the other two."""
    words = list(range(1, PACKET - 2))
    nodes = [Node(packet([n << 16, *words], 3) * count) for n in range(3)] + [Node()]
    run(small(receives=12, hold_after=hold_after), nodes)
    came = [words[0] >> 16 for _, words, _ in nodes[3].packets]
    assert len(came) == 3 * count
    return [came[: len(came) // 2].count(n) for n in range(3)]


@pytest.mark.slow
def test_a_node_that_waits_too_long_makes_the_others_wait():
    held, free = shares(16), shares(1 << 16)
    assert min(held) >= 4, (held, free)
    assert max(held) < max(free), (held, free)


@pytest.mark.parametrize(
    ("name", "value"), [("ports", 17), ("ports", 1), ("packet", 1), ("sends", 3), ("receives", 0), ("hop", "two")]
)
def test_what_no_ring_can_be(name, value):
    with pytest.raises(UserError, match=f"{name}={value!r} must be a"):
        RingConfig(**{name: value})


# Proofs of a node's bypass FIFO, whatever comes on the ring.

PACKET_formal = 6


class BypassSpec(wiring.Component):
    """The FIFO takes every flit that comes: it never holds more than came while the node sent one
    packet of at most `packet` flits and the idle symbol behind it."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Inserter(RingConfig(packet=PACKET_formal, hold_after=4))
        for signal in (dut.i.as_value(), dut.own.payload.as_value(), dut.own.valid):
            m.d.comb += signal.eq(AnySeq(len(signal)))
        m.d.comb += Assume(~dut.sends | dut.own.valid)
        own = Signal(range(PACKET_formal + 2))  # symbols of the packet that is sent, in the slots before
        m.d.sync += own.eq(0)
        with m.If(dut.own.valid & dut.own.ready):
            m.d.comb += Assume(dut.own.payload.last | (own < PACKET_formal - 1))
            m.d.sync += own.eq(own + 1)
        bypass = dut.bypass
        m.d.comb += [
            Assert(~bypass.i.valid | bypass.i.ready, "what comes is taken"),
            Assert(bypass.level <= PACKET_formal + 1),
            # How the registers are linked, for the induction.
            Assert(~(dut.sends | dut.parts) | (bypass.level <= own)),
            Assert(~dut.sends | ((own != 0) & (own < PACKET_formal))),
            Assert(~dut.parts | (own <= PACKET_formal)),
            Assert(~(dut.sends & dut.parts)),
            Assert((own == 0) | dut.sends | dut.parts),
        ]
        return m


def test_the_bypass_fifo_never_overflows(prove):
    prove(BypassSpec())


# Each rule that keeps packets whole and in order has a test that fails without it: the same tests on a ring with one
# line changed.


PARTS = {Sends: sends, Stripper: stripper, Inserter: inserter}
ENOUGH = 1500  # slots; a sound ring takes 700
TRAFFIC = [
    (small(2, receives=1, sends=4, hop=6), 6, 1, {"stop": 0.85}),
    (small(3, receives=2, hold_after=4), 3, 1, {"gap": 0.1}),
]

FREES = "with m.Else():\n                m.d.sync += held"
MUTANTS = [  # (part, what is changed, a line of it, the line instead)
    (Sends, "overtakes what is refused", " & ~waiting.any()", ""),
    (Sends, "a refused packet does not hold the others", "1).eq(self.busy)", "1).eq(0)"),
    (Sends, "a refused packet is not sent again", "refused.bit_select(self.place, 1).eq(1)", "at.eq(at)"),
    (Sends, "a refused packet is freed", FREES, FREES.replace("with m.Else()", "if True")),
    (Sends, "a taken place is filled", "~held.bit_select(fill, 1) & ~reads", "~reads"),
    (Sends, "a packet is sent before all of it came", "with m.If(is_tail):", "with m.If(1):"),
    (Stripper, "takes packets in any order", "(~waits | (expected[head.source] == head.place))", "1"),
    (Stripper, "takes packets without room", "self.room & (~waits", "(~waits"),
    (Stripper, "forgets which was refused first", "with m.If(~waits):", "if True:"),
    (Stripper, "delivers what it refuses", "self.delivers.eq(~echo.busy)", "self.delivers.eq(1)"),
    (Inserter, "inserts while the bypass FIFO has something", "sends | (empty & opening)", "sends | opening"),
    (Inserter, "what passes leaves in the midst of its own", "old.ready.eq(~inserts & ~parts)", "old.ready.eq(1)"),
]  # fmt: skip


def mutate(monkeypatch, part, old, new):
    """Replace the methods of a part by those of its module with a line changed."""
    module = PARTS[part]
    text = inspect.getsource(module)
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {module.__name__}"
    names = dict(vars(module))
    exec(compile(text.replace(old, new), f"<mutant of {module.__name__}>", "exec"), names)
    for name, method in vars(names[part.__name__]).items():
        if inspect.isfunction(method) and name != "__init__":
            monkeypatch.setattr(part, name, method)


def fails():
    for config, count, seed, node in TRAFFIC:
        try:
            played(config, count, seed, **node)
        except (AssertionError, IndexError):
            return True
    return False


@pytest.mark.ci
@pytest.mark.parametrize(("part", "what", "old", "new"), MUTANTS, ids=[what for _, what, _, _ in MUTANTS])
def test_a_ring_without_the_rule_fails(monkeypatch, part, what, old, new):
    monkeypatch.setattr(wire, "WATCHDOG", ENOUGH)
    mutate(monkeypatch, part, old, new)
    assert fails(), f"no test sees a ring that {what}"


@pytest.mark.ci
def test_a_sound_ring_passes(monkeypatch):
    monkeypatch.setattr(wire, "WATCHDOG", ENOUGH)
    assert not fails()
