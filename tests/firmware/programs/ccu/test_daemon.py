"""The daemon: what is sent arrives once, in order, at all that it is for, whatever the wire
does."""

import random
from itertools import pairwise

import pytest
from pairs import first_of

from lanai_firmware.programs.ccu import state, timing
from lanai_firmware.programs.ccu.layout import RING, Count

from .daemons import Daemons, unreliable


def packets(count, source=0):
    return [f"{source}/{n}".encode() * (1 + n % 9) for n in range(count)]


def test_a_packet_arrives_whole():
    world = Daemons(ack_every=1)
    one, other = world.hosts
    world.run([(one, bytes(range(256)) * 5, {1: 1})])
    assert other.got == [bytes(range(256)) * 5]
    assert world.count(Count.SENT) == 1
    assert world.count(Count.RESENT) == 0
    assert world.settled


def test_a_free_entry_takes_the_place_of_the_one_that_is_sent():
    """CC-02, CC-04: the slot's entry changes, and the old one is free once it is acknowledged."""
    world = Daemons(ack_every=1)
    world.quiet()
    one = world.hosts[0]
    before = [one.status("entries", slot) for slot in range(2)]
    world.run([(one, b"x", {1: 1})])
    after = [one.status("entries", slot) for slot in range(2)]
    assert after[0] not in before
    assert after[1] == before[1]
    assert world.settled


def test_a_multicast_is_one_packet_with_a_number_for_each_target():
    """Numbers of the pairs differ: packets to one node went before (CC-08)."""
    world = Daemons((1, 1, 1), ack_every=1)
    root = world.hosts[0]
    world.run([(root, b"a", {1: 1}), (root, b"b", {1: 1}), (root, b"both", {1: 1, 2: 1}), (root, b"c", {2: 1})])
    assert [host.got for host in world.hosts] == [[], [b"a", b"b", b"both"], [b"both", b"c"]]
    assert world.count(Count.SENT) == 4


def test_without_broadcast_a_multicast_is_a_packet_for_each_node():
    world = Daemons((1, 1, 1), ack_every=1, broadcast=0)
    world.run([(world.hosts[0], b"both", {1: 1, 2: 1})])
    assert [host.got for host in world.hosts] == [[], [b"both"], [b"both"]]
    assert world.count(Count.SENT) == 2


def test_one_buffer_serves_all_readers_of_a_node():
    """CC-05: the packet crosses the wire once, and its entry is free when the last rank has read
    it."""
    world = Daemons((1, 3), ack_every=1)
    world.hosts[2].reads = False
    world.run([(world.hosts[0], b"all", {1: 0b111})])
    assert [host.got for host in world.hosts] == [[], [b"all"], [], [b"all"]]
    assert world.count(Count.SENT) == 1
    assert world.settled  # the copy in the ring of the rank that has not looked is its own


def test_ranks_of_one_node_exchange_packets_without_the_wire():
    world = Daemons((2, 1))
    first, second, _ = world.hosts
    world.run([(first, b"to you", {0: 0b10}), (second, b"to me", {0: 0b10}), (first, b"to me", {0: 0b01})])
    assert second.got == [b"to you", b"to me"]
    assert first.got == [b"to me"]
    assert world.count(Count.SENT) == 0
    assert world.settled


def test_one_trigger_serves_all_send_queues():
    """CC-03: two ranks have written, one has rung."""
    world = Daemons((2, 1), ack_every=1)
    world.quiet()
    nic = world.wire.nics[0]
    assert world.hosts[0].send(b"one", {1: 1})
    assert world.hosts[1].send(b"two", {1: 1})
    nic.doorbell = 1
    world.run()
    assert sorted(world.hosts[2].got) == [b"one", b"two"]


def test_no_more_packets_are_under_way_than_the_window():
    """CC-12. The receiver acknowledges each 25th: with a window of 25 nothing stalls; the 26th
    waits for that."""
    world = Daemons(window=25, ack_every=1000, timeout=1 << 20)
    one, other = world.hosts
    most = 0
    acted = world.wire.act

    def act(action):
        nonlocal most
        acted(action)
        most = max(most, world.node_count(0, Count.SENT))
        if action[0] == "tick":
            raise StopIteration

    world.wire.act = act
    with pytest.raises(StopIteration):
        world.run([(one, data, {1: 1}) for data in packets(40)])
    assert most == 25
    assert len(other.got) == 25


def test_a_daemon_that_is_away_has_as_many_packets_waiting_as_the_system_buffer_takes():
    """CC-12: the daemon of the receiver posts no more buffers than that, and reads none while
    another process has its processor."""
    world = Daemons(buffers=3, present=1000, away=500, ack_every=1)
    one, other = world.hosts
    world.quiet()
    receiver = world.wire.nics[1]
    with receiver.machine:
        assert state.daemon.posted.last - state.daemon.posted.first == 3
    sent = packets(30)
    world.run([(one, data, {1: 1}) for data in sent])
    assert other.got == sent
    assert world.settled


def test_a_window_of_63_packets_survives_the_loss_of_many():
    """The maps of an acknowledgement have two words."""
    world = Daemons(window=63, ack_every=60, timeout=1 << 20)
    lost = set(range(3, 60, 2))
    seen = []

    def spoil(source, target, packet):
        if source == 0:
            seen.append(packet)
        return [] if source == 0 and len(seen) in lost else [packet]

    world.wire.spoil = spoil
    sent = packets(63)
    one, other = world.hosts
    world.run([(one, data, {1: 1}) for data in sent])
    assert other.got == sent
    assert world.count(Count.RESENT) >= len(lost)
    assert world.settled


@pytest.mark.parametrize(
    ("fault", "reason"), [("drop", Count.ACKS_LOST), ("double", Count.ACKS_AGAIN), ("none", Count.ACKS_NTH)]
)
def test_three_reasons_to_acknowledge(fault, reason):
    """CC-10, each with one fault."""
    world = Daemons(ack_every=25 if fault != "none" else 5)
    seen = []

    def spoil(source, target, packet):
        seen.append(packet)
        if len(seen) == 2 and fault != "none":
            return [] if fault == "drop" else [packet, packet]
        return [packet]

    world.wire.spoil = spoil
    sent = packets(5)
    one, other = world.hosts
    world.run([(one, data, {1: 1}) for data in sent])
    assert other.got == sent
    assert world.node_count(1, reason) >= 1
    others = {Count.ACKS_LOST, Count.ACKS_NTH} - {reason}
    assert not any(world.node_count(1, other) for other in others)
    assert world.settled


@pytest.mark.parametrize(("timer", "timeouts"), [(0, True), (100, False)])
def test_the_last_packets_of_few_stall_without_an_acknowledgement_timer(timer, timeouts):
    """CC-G1: fewer than `ack_every` packets are acknowledged after a timeout only; the timer mends
    that."""
    world = Daemons(ack_timer=timer, timeout=1000)
    one, other = world.hosts
    sent = packets(3)
    world.run([(one, data, {1: 1}) for data in sent])
    assert other.got == sent
    assert bool(world.node_count(0, Count.TIMEOUTS)) == timeouts
    assert bool(world.node_count(1, Count.ACKS_TIMER)) != timeouts
    assert world.settled


def test_the_acknowledgement_timer_does_not_look_at_all_packets(monkeypatch):
    """To look at all entries takes a workstation's daemon a millisecond. A timeout needs four looks,
    however short the acknowledgement timer is."""
    looks = []
    look_at_packets = timing.look_at_packets

    def look(now):
        looks.append((int(state.daemon.config.node), int(now)))
        look_at_packets(now)

    monkeypatch.setattr(timing, "look_at_packets", look)
    world = Daemons(ack_timer=40, timeout=4000)
    world.wire.spoil = lambda source, target, packet: [packet] if looks else []
    sent = packets(3)
    world.run([(world.hosts[0], data, {1: 1}) for data in sent])
    assert world.hosts[1].got == sent
    assert world.node_count(1, Count.ACKS_TIMER) > 0
    assert world.settled
    assert {node for node, _ in looks} == {0, 1}
    assert all(later - before >= 1000 for (node, before), (other, later) in pairwise(sorted(looks)) if node == other)


@pytest.mark.parametrize("resend_all", [0, 1])
def test_what_is_missing_is_sent_to_those_that_lack_it_or_to_all(resend_all):
    """CC-09: of three targets one loses the packet."""
    world = Daemons((1, 1, 1, 1), ack_every=1, resend_all=resend_all)
    lost = []

    def spoil(source, target, packet):
        if target == 2 and not lost:
            lost.append(packet)
            return []
        return [packet]

    world.wire.spoil = spoil
    world.run([(world.hosts[0], b"to all", {1: 1, 2: 1, 3: 1})])
    assert [host.got for host in world.hosts[1:]] == [[b"to all"]] * 3
    assert world.count(Count.RESENT) == 1
    assert world.count(Count.DUPLICATES) == (2 if resend_all else 0)
    assert world.settled


@pytest.mark.parametrize(
    ("fault", "resend_all"),
    first_of(({"double": 0.1, "late": 0.1}, 0), ({"drop": 0.1}, 0), ({"drop": 0.1}, 1), ({"damage": 0.1}, 0)),
)
def test_none_lost_none_doubled_order_kept(fault, resend_all):
    soak(25, resend_all=resend_all, **fault)


def test_compiled_daemons_do_the_same():
    faults = {"drop": 0.1, "damage": 0.02, "double": 0.1, "late": 0.1}
    plain, native = (soak(20, native=native, **faults) for native in (False, True))
    assert [host.got for host in native.hosts] == [host.got for host in plain.hosts]
    assert [native.count(which) for which in Count] == [plain.count(which) for which in Count]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_none_lost_none_doubled_order_kept_for_long(seed):
    """About 100,000 packets for each seed reach their readers, a million in all."""
    soak(10_000, seed=seed, resend_all=seed % 2, native=True, drop=0.1, damage=0.02, double=0.1, late=0.1)


def soak(count, *, seed=1, resend_all=0, native=False, **faults):
    """Three nodes, one with two ranks; packets to random sets of them, all at once."""
    rng = random.Random(seed)
    world = Daemons((1, 2, 1), resend_all=resend_all, ack_timer=200, native=native)
    world.wire.spoil = unreliable(rng, **faults)
    places = [(0, 0), (1, 0), (1, 1), (2, 0)]
    script, expected = [], {}
    for source, host in enumerate(world.hosts):
        for data in packets(count, source):
            clients = {}
            for rank in rng.sample(range(4), rng.randint(1, 4)):
                node, client = places[rank]
                clients[node] = clients.get(node, 0) | 1 << client
                expected.setdefault((source, rank), []).append(data)
            script.append((host, data, clients))
    world.run(script)
    for rank, host in enumerate(world.hosts):
        for source in range(4):
            mine = [data for data in host.got if data.startswith(f"{source}/".encode())]
            assert mine == expected.get((source, rank), []), (source, rank)
    assert world.settled
    return world


def test_a_rank_that_does_not_read_holds_its_packets_and_no_acknowledgement():
    """CC-G3: more packets than its ring and the pool hold. Others on the node go on, and so does it
    when it reads again."""
    world = Daemons((1, 2), ack_every=1)
    one, slow, quick = world.hosts
    slow.reads = False
    sent = packets(int(RING) + 10)
    world.run([(one, data, {1: 0b01}) for data in sent] + [(one, b"quick", {1: 0b10})])
    assert quick.got == [b"quick"]
    assert slow.got == []
    assert world.node_count(1, Count.PRESSURE) == 1
    slow.reads = True
    slow.take()
    world.run()
    assert slow.got == sent
    assert world.settled


def test_packets_for_a_rank_that_has_ended_are_dropped():
    world = Daemons(ack_every=1)
    one, other = world.hosts
    other.end()
    world.run([(one, b"too late", {1: 1})])
    assert other.got == []
    assert world.settled


def test_a_node_that_never_answers_is_given_up():
    world = Daemons((1, 1, 1), ack_every=1, retries=3)
    world.wire.spoil = lambda source, target, packet: [] if target == 1 else [packet]
    one = world.hosts[0]
    world.run([(one, b"x", {1: 1, 2: 1}), (one, b"y", {1: 1})])
    assert one.status("silent") == 0b10
    assert world.hosts[2].got == [b"x"]
    world.run([(one, b"z", {1: 1, 2: 1})])
    assert world.hosts[2].got == [b"x", b"z"]
    assert world.settled
