"""Packets that are fragments of datagrams: together on their way, delivered and acknowledged together."""

import random

import pytest
from pairs import in_turn

from lanai_firmware.programs.ccu import receiving, transmit
from lanai_firmware.programs.ccu.layout import SLOTS, Count

from .daemons import Daemons, unreliable

UDP = {"datagrams": 1, "ack_every": 1, "window": 1, "broadcast": 0}


def fragments(host, number, count, clients=None):
    """A datagram of so many packets."""
    parts = [f"{number}.{n}".encode() for n in range(count)]
    return [(host, part, clients or {1: 1}, n == count - 1) for n, part in enumerate(parts)]


def contents(script):
    return [data for _, data, *_ in script]


def test_datagrams_arrive_in_order_with_an_acknowledgement_each():
    world = Daemons(**UDP)
    one, other = world.hosts
    script = [item for number, count in enumerate((1, 7, 2, 1, 16)) for item in fragments(one, number, count)]
    world.run(script)
    assert other.got == contents(script)
    assert world.node_count(1, Count.ACKS_NTH) == 5
    assert world.count(Count.SENT) == len(script)
    assert world.count(Count.RESENT) == 0


def test_nothing_leaves_before_the_last_fragment_is_in_the_queue():
    world = Daemons(**UDP)
    one, other = world.hosts
    first, last = fragments(one, 0, 2)
    world.run([first])
    assert world.count(Count.SENT) == 0
    assert other.got == []
    world.run([last])
    assert world.count(Count.SENT) == 2
    assert other.got == [b"0.0", b"0.1"]


def test_nothing_is_delivered_before_the_last_fragment_has_come_and_all_are_sent_again():
    world = Daemons(**UDP)
    one, other = world.hosts
    seen = []

    def spoil(source, target, packet):
        if target == 1:
            seen.append(list(other.got))
            return [] if len(seen) == 2 else [packet]  # the second fragment of three
        return [packet]

    world.wire.spoil = spoil
    script = fragments(one, 0, 3)
    world.run(script)
    assert other.got == contents(script)
    assert seen == [[]] * 6  # each of them twice
    assert world.count(Count.RESENT) == 3
    assert world.node_count(1, Count.ACKS_LOST) == 0
    assert world.node_count(1, Count.ACKS_NTH) == 1


def test_the_next_datagram_to_a_node_waits_for_the_acknowledgement():
    world = Daemons((1, 1, 1), **UDP)
    one = world.hosts[0]
    order = []

    def spoil(source, target, packet):
        order.append((source, target))
        return [packet]

    world.wire.spoil = spoil
    world.run([*fragments(one, 0, 2), *fragments(one, 1, 1), *fragments(one, 2, 1, {2: 1})])
    assert order.index((1, 0)) == 2  # the acknowledgement of the first datagram
    assert [host.got for host in world.hosts[1:]] == [[b"0.0", b"0.1", b"1.0"], [b"2.0"]]


def test_ranks_of_a_node_do_not_mix_their_fragments():
    world = Daemons((3, 1), **UDP)
    reader = world.hosts[3]
    world.run([item for n, host in enumerate(world.hosts[:3]) for item in fragments(host, n, 5)])
    groups = [reader.got[at : at + 5] for at in range(0, 15, 5)]
    assert sorted(groups) == [[f"{n}.{k}".encode() for k in range(5)] for n in range(3)]


def test_a_full_queue_without_a_last_fragment_leaves_too():
    world = Daemons(**UDP)
    one, other = world.hosts
    world.run([(one, b"part", {1: 1})] * int(SLOTS))
    assert world.count(Count.SENT) == int(SLOTS)
    world.run(fragments(one, 1, 1))
    assert other.got == [b"part"] * int(SLOTS) + [b"1.0"]


def test_a_datagram_costs_the_work_of_one_packet(monkeypatch):
    """At the sender and at the receiver, and so does each acknowledgement."""
    done = []
    for module in (receiving, transmit):
        monkeypatch.setattr(module, "work", lambda module=module: done.append(module))
    world = Daemons(**UDP)
    world.run(fragments(world.hosts[0], 0, 7))
    assert done.count(transmit) == 2
    assert done.count(receiving) == 2


@pytest.mark.parametrize(
    ("fault", "native"), in_turn([{"double": 0.1, "late": 0.1}, {"drop": 0.1}, {"damage": 0.1}], [False, True], 1)
)
def test_none_lost_none_doubled_order_kept(fault, native):
    chance = random.Random(3)
    world = Daemons((2, 1), native=native, **UDP)
    world.wire.spoil = unreliable(chance, **fault)
    script = [
        item
        for number in range(20)
        for host in world.hosts[:2]
        for item in fragments(host, number, 1 + (number * 5) % 7)
    ]
    world.run(script)
    assert sorted(world.hosts[2].got) == sorted(contents(script))
    assert world.hosts[2].got.count(b"19.0") == 2
