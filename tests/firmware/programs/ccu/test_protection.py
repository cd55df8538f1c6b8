"""Memory that a rank may not access with the daemon's help, and packets that no sound daemon sends."""

from unittest.mock import patch

import pytest

from lanai_firmware.programs.ccu import acks, state
from lanai_firmware.programs.ccu.layout import ACK, BEGUN, CLOSED, CONTENT, DATA, NODES, NUMBERS, TARGETS, Count

from ..rig import CRC
from .daemons import WINDOW, Daemons

SECRET = b"another rank's memory" * 40


def guarded(*places, **changes):
    """Daemons whose hosts have something in their memory behind what the daemon may write."""
    world = Daemons(places, ack_every=1, **changes)
    guards = []
    for host in world.hosts:
        guard = bytearray(SECRET)
        host.nic.memory.add(host.address + len(host.memory), memoryview(guard))
        host.nic.memory.add(host.address + WINDOW // 2, memoryview(guard))
        guards.append(guard)
    return world, guards


def still_works(world):
    """Each rank sends to each other one, and to itself."""
    places = {}
    for host in world.hosts:
        node = world.wire.nics.index(host.nic)
        places[node] = places.get(node, 0) | 1 << host.client
    before = [len(host.got) for host in world.hosts]
    world.run([(host, b"still there", places) for host in world.hosts])
    for host, count in zip(world.hosts, before, strict=True):
        assert host.got[count:] == [b"still there"] * len(world.hosts)
    assert world.settled


def test_no_address_of_a_rank_is_written_to():
    """Whatever a rank says where its memory is, nobody's is touched. Two ranks share the node."""
    world, guards = guarded(2, 1)
    bad, victim, sender = world.hosts
    world.quiet()
    place = 0x3000
    victim.memory[place : place + len(SECRET)] = SECRET
    before = bytes(bad.memory)
    bad.reads = False
    for name in ("stage", "read"):
        for address in (victim.address + place - 4096, victim.address + place, 0, 0xFFFF_FFFF):
            bad.word(name, address)
            world.run([(sender, b"Z" * 100, {0: 0b01})])
    bad.word("read", 0)
    bad.word("stage", int(BEGUN))
    world.run()
    assert bytes(victim.memory[place : place + len(SECRET)]) == SECRET
    assert all(guard == SECRET for guard in guards)
    assert bytes(bad.memory) != before, "the packets went to the rank's own memory"


@pytest.mark.parametrize("length", [int(CONTENT) + 1, 1 << 16, 0xFFFF_FFFF])
def test_a_packet_says_of_itself_no_more_than_an_entry_holds(length):
    """It is cut, here and at other nodes, and no node is given up for it."""
    world, _ = guarded(2, 1, retries=2)
    bad, victim, far = world.hosts
    world.quiet()
    content = bytes(n % 251 for n in range(int(CONTENT)))
    assert bad.send(content, {0: 0b11, 1: 0b1}, length=length)
    world.run()
    assert [host.got for host in world.hosts] == [[content]] * 3
    assert world.count(Count.DAMAGED) == world.count(Count.RESENT) == 0
    assert victim.status("silent") == far.status("silent") == 0
    still_works(world)


def test_the_longest_packet_is_not_cut():
    world, _ = guarded(1, 1)
    content = bytes(n % 251 for n in range(int(CONTENT)))
    world.run([(world.hosts[0], content, {1: 1})])
    assert world.hosts[1].got == [content]


def test_nothing_is_sent_to_nodes_that_there_are_not():
    world, _ = guarded(1, 1, retries=2)
    one, other = world.hosts
    sent = []
    world.wire.spoil = lambda source, target, packet: sent.append(target) or [packet]
    world.run([(one, b"x", {7: 1}), (one, b"y", {1: 1, 15: 1})])
    assert other.got == [b"y"]
    assert world.count(Count.SENT) == 1
    assert world.count(Count.TIMEOUTS) == 0
    still_works(world)


def test_a_rank_that_has_ended_does_not_begin_again():
    """Its memory may be another's by then."""
    world, _ = guarded(1, 1)
    one, other = world.hosts
    world.quiet()
    other.end()
    world.run()
    before = bytes(other.memory)
    other.word("stage", int(BEGUN))
    world.run([(one, b"late", {1: 1})])
    assert bytes(other.memory) == before
    assert world.settled


def test_memory_is_not_reached_before_the_rank_has_begun_nor_after_it_has_ended():
    world = Daemons((2, 1), begun=False, ack_every=1)
    early, begun, sender = world.hosts
    early.nic.memory.add(early.address, early.memory)
    for host in (begun, sender):
        host.begin()
    world.run([(sender, b"x", {0: 0b11})])
    assert not any(early.memory)
    assert begun.got == [b"x"]
    early.word("stage", int(BEGUN))
    world.run()
    assert early.got == [b"x"]
    before = bytes(early.memory)
    early.word("stage", int(CLOSED))
    world.run([(sender, b"y", {0: 0b11})])
    assert bytes(early.memory) == before
    assert early.nic.bus_errors == 0
    assert world.settled


# Packets of node 0 that its daemon would not make, to node 1. Targets are node, clients, number.


def head(count, kind=DATA, node=0):
    return int(kind) << 24 | count << 16 | node


def target(number, node=1, clients=1):
    return node << 24 | clients << 16 | number


UNSOUND = {
    "too short": ([head(1), target(0), 0], b""),
    "to no node": ([head(0), 0, 0], b""),
    "no kind": ([head(1, kind=3), target(0), 0, 4], b"data"),
    "from a node that there is not": ([head(1, node=int(NODES)), target(0), 0, 4], b"data"),
    "from the node itself": ([head(1, node=1), target(0), 0, 4], b"data"),
    "an acknowledgement of another size": ([head(0, kind=ACK), 0, 0, 0, 0], b""),
    "more bytes than an entry has": ([head(1), target(0), 0, int(CONTENT) + 1], bytes(int(CONTENT) + 1)),
    "fewer bytes than it says": ([head(1), target(0), 0, 64], b"data"),
    "more bytes than it says": ([head(1), target(0), 0, 4], b"data and more"),
    "more targets than there are nodes": ([head(int(TARGETS) + 1), *[target(0)] * 17, 0, 4], b"data"),
    "more targets than it has": ([head(255), target(0), 0, 4], b"data"),
}


@pytest.mark.parametrize("what", UNSOUND)
def test_a_packet_that_is_not_sound_is_dropped(what):
    world, guards = guarded(1, 1)
    world.quiet()
    words, data = UNSOUND[what]
    world.arrive(1, words, data + bytes(-len(data) % 4))
    world.run()
    assert world.node_count(1, Count.DAMAGED) == 1
    assert world.hosts[1].got == []
    assert all(guard == SECRET for guard in guards)
    still_works(world)


def test_a_damaged_packet_is_dropped():
    world, _ = guarded(1, 1)
    world.quiet()
    world.arrive(1, [head(1), target(0), 0, 4], b"data", CRC)
    world.run()
    assert world.node_count(1, Count.DAMAGED) == 1
    still_works(world)


def test_a_packet_for_other_nodes_is_not_delivered():
    world, _ = guarded(1, 1)
    world.quiet()
    world.arrive(1, [head(2), target(0, node=0), target(0, node=2), 0, 4], b"data")
    world.run()
    assert world.hosts[1].got == []
    still_works(world)


def test_a_packet_with_several_numbers_of_one_node_is_held_once():
    """Else its entry would be free while it is still held under another number."""
    world, _ = guarded(1, 1)
    world.quiet()
    world.arrive(1, [head(2), target(2), target(0, clients=0), 0, 4], b"data")
    world.run()
    with world.wire.nics[1].machine:
        held = [int(state.daemon.peers[0].held[number]) for number in range(NUMBERS)]
        assert not any(state.daemon.entries[index].free for index in held if index)
    for number in range(2):
        world.arrive(1, [head(1), target(number, clients=0), 0, 4], b"more")
    world.run()
    assert world.settled


@pytest.mark.parametrize("number", [int(NUMBERS), 0x8000, 0xFFFF])
def test_a_packet_outside_the_window_is_not_taken(number):
    world, _ = guarded(1, 1)
    world.quiet()
    world.arrive(1, [head(1), target(number), 0, 4], b"data")
    world.run()
    assert world.node_count(1, Count.DUPLICATES) == 1
    assert world.hosts[1].got == []
    still_works(world)


def test_a_number_that_is_held_is_not_taken_again():
    world, _ = guarded(1, 1)
    world.quiet()
    for data in (b"one.", b"two."):
        world.arrive(1, [head(1), target(1), 0, 4], data)
    world.arrive(1, [head(1), target(0), 0, 4], b"zero")
    world.run()
    assert world.hosts[1].got == [b"zero", b"one."]
    assert world.node_count(1, Count.DUPLICATES) == 1
    assert world.settled


def test_a_packet_for_ranks_that_there_are_not_is_for_the_others():
    """The node that it comes to has one."""
    world, _ = guarded(1, 1)
    one, other = world.hosts
    world.run([(one, b"x", {1: 0xFF, 0: 0xFE})])
    assert other.got == [b"x"]
    assert world.settled


def test_a_packet_is_acknowledged_once():
    """The second of two, whose first copies are lost: it is said to have come, twice."""
    world, _ = guarded(1, 1)
    one, other = world.hosts
    lost = []

    def spoil(source, target, packet):
        if source != 0 or len(lost) == 2:
            return [packet]
        lost.append(packet)
        if len(lost) == 2:
            for _ in range(2):
                world.arrive(0, [head(0, kind=ACK, node=1), 0, 0b10, 0, 0, 0])
        return []

    world.wire.spoil = spoil
    world.run([(one, b"first", {1: 1}), (one, b"second", {1: 1})])
    assert other.got == [b"first"]
    with world.wire.nics[0].machine:
        assert state.daemon.transmitting == 0


def test_an_acknowledgement_of_what_was_not_sent_is_not_taken():
    world, _ = guarded(1, 1, timeout=1 << 20)
    one, other = world.hosts
    world.quiet()
    with patch.object(acks, "acknowledged", side_effect=AssertionError("nothing was sent")):
        for number in (1, 5, 0x8000, 0xFFFF):
            world.arrive(0, [head(0, kind=ACK, node=1), number, *[0xFFFF_FFFF] * 4])
        world.run()
    world.run([(one, b"x", {1: 1})])
    assert other.got == [b"x"]
    still_works(world)


def test_fragments_without_a_last_one_do_not_stop_the_daemon():
    """There are as many fragments as can be held."""
    world, _ = guarded(1, 1, 1, datagrams=1, window=1, broadcast=0, buffers=1)
    world.quiet()
    for number in reversed(range(int(NUMBERS))):
        world.arrive(1, [head(1), target(number), 0, 4], b"part")
    world.run()
    assert world.hosts[1].got == []
    world.run([(world.hosts[2], b"whole", {1: 1}, True)])
    assert world.hosts[1].got == [b"whole"]
