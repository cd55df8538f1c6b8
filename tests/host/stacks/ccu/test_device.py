"""The device over the daemon: messages in packets, matching on the host, send modes, the local
buffer."""

import random

import pytest

from lanai_firmware.programs.ccu.layout import RING, SLOTS, Count
from lanai_host.device import Pending, SendMode
from lanai_host.operation import ANY_SOURCE, ANY_TAG, ErrorKind, Wait
from lanai_host.stacks.ccu.stack import PRESETS

from .world import World, unreliable


def pattern(size, seed=0):
    return bytes((n * 7 + seed * 31) % 251 for n in range(size))


@pytest.mark.parametrize("size", [0, 1315, 1316, 40_000])
def test_a_message_of_any_length_arrives_whole(size):
    """1,315 bytes and the header are one packet. 40,000 are more packets than the send queue and
    the window take."""
    world = World(ack_every=5)
    receive, buffer = world.receive(1, size, 0)
    send = world.send(0, 1, pattern(size))
    world.finish(send, receive)
    assert buffer == pattern(size)
    assert (receive.source, receive.tag, receive.length, receive.error) == (0, 1, size, None)
    assert world.devices[0].read_counter("ccu_sent") == max(1, -(-(size + 16) // 1331))


def test_nothing_is_copied_to_the_local_buffer_if_receives_come_first_and_in_order():
    """CC-18."""
    world = World(ack_every=1)
    receives = [world.receive(1, 5000, 0, tag) for tag in range(4)]
    sends = [world.send(0, 1, pattern(5000, tag), tag) for tag in range(4)]
    world.finish(*sends, *(receive for receive, _ in receives))
    assert [buffer for _, buffer in receives] == [pattern(5000, tag) for tag in range(4)]
    assert world.devices[1].read_counter("ccu_copied") == 0


def arrive(world):
    """Let packets come to the ring of rank 1, in which nobody looks."""
    for _ in range(2000):
        for action in world.daemons.wire.actions():
            world.daemons.wire.act(action)
        world.devices[0].progress()


def take(world, size, tag):
    """Rank 1 receives from rank 0 and waits in the library, where the wire goes on."""
    receive, buffer = world.receive(1, size, 0, tag)
    world.devices[1].wait([receive], Wait("test"))
    assert receive.done
    return buffer


def test_messages_that_came_before_their_receives_are_not_copied_if_taken_in_order():
    """CC-18: each stays in the ring until a receive wants it."""
    world = World(ack_every=1)
    for tag in range(3):
        world.send(0, 1, pattern(1000, tag), tag)
    arrive(world)
    assert [take(world, 1000, tag) for tag in range(3)] == [pattern(1000, tag) for tag in range(3)]
    assert world.devices[1].read_counter("ccu_copied") == 0


def test_a_call_takes_all_that_has_come_if_asked_to():
    world = World(ack_every=1, stay=False)
    for tag in range(3):
        world.send(0, 1, pattern(1000, tag), tag)
    arrive(world)
    assert take(world, 1000, 0) == pattern(1000, 0)
    assert world.devices[1].read_counter("ccu_copied") == 2000


@pytest.mark.parametrize("preset", PRESETS)
def test_packets_stay_in_the_ring_in_every_preset(preset):
    """CC-18 is the paper's rule. Of other systems it says nothing else."""
    assert PRESETS[preset]().stay == 1


def test_a_full_ring_is_emptied_into_the_local_buffer():
    """CC-18: the daemon asks for it, whatever the program waits for."""
    world = World(ack_every=1)
    for n in range(int(RING) + 5):
        world.send(0, 1, pattern(10, n))
    arrive(world)
    assert world.daemons.node_count(1, Count.PRESSURE) == 1
    assert take(world, 10, 1) == pattern(10, 0)
    assert world.devices[1].read_counter("ccu_copied") >= 10 * (int(RING) - 1)
    for n in range(1, int(RING) + 5):
        assert take(world, 10, 1) == pattern(10, n)


def test_a_wait_for_anything_ends_with_what_was_left_in_the_ring():
    """The message behind the one that was received is news to a probe."""
    world = World(ack_every=1)
    for tag in range(2):
        world.send(0, 1, pattern(100, tag), tag)
    arrive(world)
    take(world, 100, 0)
    assert world.devices[1].probe(0, 1, 5, False) is None
    world.devices[1].wait(None, Wait("test"))
    assert world.devices[1].probe(0, 1, 5, False) is not None


def test_what_is_taken_out_of_order_goes_through_the_local_buffer():
    world = World(ack_every=1)
    world.finish(*(world.send(0, 1, pattern(3000, tag), tag) for tag in range(3)))
    last, buffer = world.receive(1, 3000, 0, 2)
    world.finish(last)
    assert buffer == pattern(3000, 2)
    assert [found.tag for found in world.devices[1].unexpected()] == [0, 1]
    assert world.devices[1].read_counter("ccu_copied") >= 6000
    for tag in (0, 1):
        receive, buffer = world.receive(1, 3000, ANY_SOURCE, ANY_TAG)
        world.finish(receive)
        assert (receive.tag, buffer) == (tag, pattern(3000, tag))


def test_the_rest_of_a_message_goes_straight_to_a_receive_that_comes_in_its_midst():
    world = World(ack_every=1)
    send = world.send(0, 1, pattern(30_000))
    while not world.devices[1].unexpected():
        world.devices[1].progress()
        for action in world.daemons.wire.actions():
            world.daemons.wire.act(action)
    receive, buffer = world.receive(1, 30_000, 0)
    world.finish(send, receive)
    assert buffer == pattern(30_000)
    assert 0 < world.devices[1].read_counter("ccu_copied") < 30_000


def test_a_standard_send_ends_when_it_is_in_the_send_buffer():
    """CC-17: no receive is needed. The call stays until the send queue has taken one packet more than fits into it."""
    world = World()
    size = int(SLOTS) * 1331 - 16
    assert world.send(0, 1, pattern(size)).done
    assert not world.devices[0]._daemon.has_room
    assert world.send(0, 1, pattern(1)).done


def test_a_synchronous_send_ends_when_a_receive_has_taken_it():
    world = World(ack_every=1)
    send = world.send(0, 1, b"wait", mode=SendMode.SYNCHRONOUS)
    for _ in range(200):
        world.devices[0].progress()
        world.devices[1].progress()
    assert not send.done
    receive, buffer = world.receive(1, 4, 0)
    world.finish(send, receive)
    assert buffer == b"wait"


def test_what_is_not_done_is_shown():
    """`lanai queues`: synchronous sends that no receive has taken, one to this rank itself among
    them, and receives."""
    world = World((1, 1, 1))
    world.receive(0, 8, 2, tag=9)
    world.send(0, 0, b"me", tag=2, mode=SendMode.SYNCHRONOUS)
    world.send(0, 1, b"wait", tag=3, mode=SendMode.SYNCHRONOUS)
    assert world.send(0, 1, b"gone", tag=4).done
    assert world.devices[0].pending() == [
        Pending(False, 2, 9, 5, 8),
        Pending(True, 0, 2, 5, 2),
        Pending(True, 1, 3, 5, 4),
    ]


@pytest.mark.parametrize("mode", list(SendMode))
def test_a_message_to_oneself_needs_no_daemon(mode):
    world = World()
    send = world.send(0, 0, b"me", mode=mode)
    assert send.done == (mode is not SendMode.SYNCHRONOUS)
    receive, buffer = world.receive(0, 2, 0)
    assert receive.done
    assert send.done
    assert buffer == b"me"
    assert world.devices[0].read_counter("ccu_sent") == 0


def test_a_multicast_is_one_packet_and_a_message_at_each_receiver():
    """CC-14, CC-21: on three nodes, one of which has two ranks."""
    world = World((1, 2, 1), ack_every=1)
    receives = [world.receive(rank, 1000, 0) for rank in (1, 2, 3)]
    send = world.devices[0].multicast((1, 2, 3), 1, 5, world.body(pattern(1000))[1])
    world.finish(send, *(receive for receive, _ in receives))
    assert [buffer for _, buffer in receives] == [pattern(1000)] * 3
    assert world.devices[0].read_counter("ccu_sent") == 1


def test_a_message_longer_than_its_receive_is_truncated():
    world = World(ack_every=1)
    receive, buffer = world.receive(1, 2000, 0)
    world.finish(world.send(0, 1, pattern(4000)), receive)
    assert receive.error.kind is ErrorKind.TRUNCATED
    assert (receive.length, buffer) == (2000, pattern(2000))
    after, buffer = world.receive(1, 3, 0)
    world.finish(world.send(0, 1, b"yes"), after)
    assert buffer == b"yes"


def test_a_receive_can_be_cancelled_until_a_message_meets_it():
    world = World(ack_every=1)
    receive, _ = world.receive(1, 4, 0)
    assert world.devices[1].cancel(receive)
    assert receive.cancelled
    assert not world.devices[1].cancel(receive)
    again, buffer = world.receive(1, 4, 0)
    world.finish(world.send(0, 1, b"kept"), again)
    assert buffer == b"kept"


def test_a_probe_takes_a_message_for_later():
    world = World(ack_every=1)
    world.finish(world.send(0, 1, pattern(2000), 7))
    while (found := world.devices[1].probe(ANY_SOURCE, ANY_TAG, 5, True)) is None:
        world.devices[1].progress()
        for action in world.daemons.wire.actions():
            world.daemons.wire.act(action)
    assert (found.source, found.tag, found.length) == (0, 7, 2000)
    assert world.devices[1].probe(ANY_SOURCE, ANY_TAG, 5, False) is None
    buffer, body = world.body(2000)
    world.finish(world.devices[1].receive_taken(found, body))
    assert buffer == pattern(2000)


def test_a_rank_that_computes_makes_the_daemon_wait_and_then_gets_everything():
    """CC-18, CC-G3: its ring fills, the library empties it into the local buffer when the program
    calls."""
    world = World(ack_every=1)
    sends = [world.send(0, 1, pattern(10, n)) for n in range(int(RING) + 30)]
    for _ in range(3000):
        for action in world.daemons.wire.actions():
            world.daemons.wire.act(action)
        world.devices[0].progress()
    assert world.daemons.node_count(1, Count.PRESSURE) == 1
    for n in range(len(sends)):
        receive, buffer = world.receive(1, 10, 0)
        world.finish(receive)
        assert buffer == pattern(10, n)
    assert world.devices[1].read_counter("ccu_copied") > 0


def test_operations_end_with_an_error_when_a_node_does_not_answer():
    world = World((1, 1, 1), ack_every=1, retries=3)
    world.daemons.wire.spoil = lambda source, target, packet: [] if target == 1 else [packet]
    receive, _ = world.receive(0, 4, 2)
    world.send(0, 1, b"lost")
    synchronous = world.send(0, 1, b"lost", mode=SendMode.SYNCHRONOUS)
    world.finish(receive, synchronous)
    assert receive.error.kind is ErrorKind.RANK_LOST
    assert receive.error.text == "no acknowledgement from the node of rank 1"
    assert synchronous.error == receive.error
    assert world.devices[0].impaired
    assert world.send(0, 2, b"late").error == receive.error


@pytest.mark.parametrize("multicasts", [True, False])
def test_closing_waits_for_the_daemon_to_take_all(multicasts):
    """The packets are the daemon's then: they arrive though their sender has ended."""
    world = World((1, 1), ack_every=1, multicasts=multicasts)
    receive, buffer = world.receive(1, 30_000, 0)
    world.send(0, 1, pattern(30_000))
    world.devices[0].close()
    world.devices = world.devices[1:]
    world.finish(receive)
    assert buffer == pattern(30_000)


def test_messages_are_in_order_over_a_wire_that_loses_damages_doubles_and_reorders():
    exchange(3, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_messages_are_in_order_over_a_bad_wire_for_long(seed):
    exchange(800, seed)


def exchange(count, seed):
    rng = random.Random(seed)
    world = World((1, 2, 1), ack_timer=200)
    world.daemons.wire.spoil = unreliable(rng, drop=0.05, damage=0.05, double=0.05, late=0.05)
    sizes = {pair: [rng.choice([0, 5, 1315, 1316, 3000]) for _ in range(count)] for pair in PAIRS}
    receives = {pair: [world.receive(pair[1], size, pair[0]) for size in sizes[pair]] for pair in PAIRS}
    sends = [
        world.send(source, dest, pattern(sizes[source, dest][n], n), mode=rng.choice(list(SendMode)))
        for n in range(count)
        for source, dest in PAIRS
    ]
    world.finish(*sends, *(receive for row in receives.values() for receive, _ in row))
    for pair, row in receives.items():
        for n, (receive, buffer) in enumerate(row):
            assert (receive.length, receive.error) == (sizes[pair][n], None), (pair, n)
            assert buffer == pattern(sizes[pair][n], n), (pair, n)


PAIRS = [(source, dest) for source in range(4) for dest in range(4)]


@pytest.mark.parametrize("size", [0, 100, 8192 - 16, 8192 - 15, 2 * 8192 - 16, 30_000])
def test_messages_are_cut_into_datagrams(size):
    """LAM sends up to 8,192 bytes in one."""
    world = World(packet=1300, datagram=8192, ack_every=1, window=1, multicasts=False)
    data = bytes(n * 7 & 0xFF for n in range(size))
    receive, memory = world.receive(1, size, 0)
    world.finish(world.send(0, 1, data), receive)
    assert bytes(memory) == data
    world.finish(*(world.send(0, 1, data), world.receive(1, size, 0)[0]))
    assert world.daemons.node_count(1, Count.ACKS_NTH) == 2 * -(-(size + 16) // 8192)
