"""Packets that are fragments of datagrams: together on their way, delivered and acknowledged together."""

import random

import pytest
from pairs import in_turn

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.ccu import receiving, state, transmit
from lanai_firmware.programs.ccu.layout import (
    ACK,
    BEGUN,
    CONTENT,
    DATA,
    NODES,
    NUMBERS,
    SEND_ENTRIES,
    SLOTS,
    Border,
    Client,
    Count,
    Packet,
)

from ..rig import CRC
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


# Random bytes of a rank, and random packets from a wire: the daemon does not stray, which plain Python would trap,
# writes to no memory but the places for packets, and what others send arrives.


HIDDEN = b"neighbour" * 100  # on both sides of each rank's memory
GOOD = b"good "
ROUNDS = 40


class Scene:
    """Rank 0 shares node 0 with rank 1; nodes 1 and 2 have a rank each. The others send each other what
    begins with GOOD."""

    def __init__(self, seed, **changes):
        self.dice = random.Random(seed)
        self.world = Daemons((2, 1, 1), ack_every=1, **changes)
        self.places = [(0, 0), (0, 1), (1, 0), (2, 0)]
        self.guards = []
        for host in self.world.hosts:
            for start in (host.address - len(HIDDEN), host.address + len(host.memory)):
                guard = bytearray(HIDDEN)
                host.nic.memory.add(start, memoryview(guard))
                self.guards.append(guard)
        self.world.quiet()
        self.sent = {}  # by source and target

    def act(self, most):
        for _ in range(self.dice.randrange(most)):
            for host in self.world.hosts:
                host.take()
            actions = self.world.wire.actions()
            if actions and actions[0][0] != "tick":
                self.world.wire.act(self.dice.choice(actions))

    def send(self, among=(1, 2, 3)):
        """One rank of these sends to another."""
        source, target = self.dice.sample(among, 2)
        data = GOOD + f"{source}/{len(self.sent)}/{self.dice.random()}".encode()
        node, client = self.places[target]
        if self.world.hosts[source].send(data, {node: 1 << client}, True):
            self.sent.setdefault((source, target), []).append(data)

    def settle(self, among=(1, 2, 3)):
        """All that these have sent each other is there, in order, and no byte is changed that lies beside
        their memory."""
        for _ in range(4):
            self.send(among)
        self.world.run()
        for source, target in self.sent:
            begin = GOOD + f"{source}/".encode()
            got = [data for data in self.world.hosts[target].got if data.startswith(begin)]
            assert got == self.sent[source, target], (source, target)
        self.check()

    def check(self):
        assert all(guard == HIDDEN for guard in self.guards)
        assert all(nic.wait for nic in self.world.wire.nics), "the daemons must end asleep"

    def write(self, host, at, size):
        host.nic.pio_write(at, self.dice.randbytes(size))
        host.nic.ring(1)


def own_places(host):
    """(address, size) of what the rank alone writes: its queue, and the entries of that."""
    with host.nic.machine:
        entries = [int(state.daemon.client_states[host.client].entries[slot]) for slot in range(SLOTS)]
    return [
        (host.at, int(offset_of(Client, "stage"))),
        *((host.pool + n * int(sizeof(Packet)), int(sizeof(Packet))) for n in entries),
    ]


def send_anything(scene, host):
    """A packet that says of its length what it likes, to any nodes and clients."""
    dice = scene.dice
    clients = {dice.randrange(int(NODES)): dice.randrange(256) for _ in range(dice.randrange(4))}
    length = dice.choice([0, 1, 100, int(CONTENT), int(CONTENT) + 1, 0xFFFF_FFFF, dice.getrandbits(32)])
    host.send(dice.randbytes(dice.choice([0, 1, 100, int(CONTENT)])), clients, True, length)


def random_bytes_of_a_rank(seed, rounds):
    """In what is its own. The others of its node do not notice."""
    scene = Scene(seed)
    host, dice = scene.world.hosts[0], scene.dice
    for _ in range(rounds):
        at, size = dice.choice(own_places(host))
        place = dice.randrange(size)
        scene.write(host, at + place, min(dice.choice([1, 4, 40]), size - place))
        send_anything(scene, host)
        if dice.random() < 0.2:
            host.word(dice.choice(["read", "released", "stage"]), dice.choice([0, 1, 7, dice.getrandbits(32)]))
        scene.act(20)
        scene.send()
    host.word("stage", int(BEGUN))
    host.word("read", host.status("arrived"))
    scene.settle()
    assert [one.status("silent") for one in scene.world.hosts] == [0] * 4


def random_bytes_of_a_node(seed, rounds):
    """Anywhere in what the ranks of a node share: packets may be spoilt, and the node be given up, but no
    memory is reached, and other nodes go on."""
    scene = Scene(seed, retries=3)
    host, dice = scene.world.hosts[0], scene.dice
    shared = int(sizeof(Border)) + int(SEND_ENTRIES) * int(sizeof(Packet))
    for _ in range(rounds):
        for _ in range(dice.randrange(6)):
            at = dice.choice([dice.randrange(int(sizeof(Border))), dice.randrange(shared - 40)])
            scene.write(host, host.at + at, dice.choice([1, 4, 40]))
        send_anything(scene, host)
        scene.act(20)
        scene.send((2, 3))
    scene.settle((2, 3))


def random_packets(seed, rounds, **changes):
    """From node 0, or from no node at all, to node 1."""
    scene = Scene(seed, retries=3, **changes)
    dice = scene.dice
    for _ in range(rounds):
        count = dice.choice([0, 1, 1, 1, 2, 3, 16, 17, 255])
        node = dice.choice([0, 0, 0, 1, int(NODES), 0xFFFF])
        kind = dice.choice([int(DATA)] * 4 + [int(ACK), 0, 3, 255])
        number = dice.choice([0, 1, 2, 3, 5, int(NUMBERS) - 1, int(NUMBERS), 0x8000, 0xFFFF])
        targets = [
            dice.choice([1, 1, 0, 16, 255]) << 24 | dice.randrange(256) << 16 | number + n & 0xFFFF
            for n in range(count)
        ]
        length = dice.choice([0, 1, 7, 40, int(CONTENT), int(CONTENT) + 1, 0xFFFF_FFFF])
        words = [kind << 24 | count << 16 | node, *targets, dice.getrandbits(32), length]
        if kind == ACK:
            words = [words[0], number, *(dice.getrandbits(32) for _ in range(dice.choice([4, 4, 3, 5])))]
        data = dice.randbytes(dice.choice([min(length, 4096) + 3 & ~3, 0, 40, 2000]) if kind != ACK else 0)
        scene.world.arrive(1, words, data, dice.choice([1, 1, 1, 1, CRC]))
        scene.act(12)
        scene.send((2, 3))
    scene.settle((2, 3))


@pytest.mark.parametrize("seed", range(2))
def test_a_rank(seed):
    random_bytes_of_a_rank(seed, ROUNDS)


@pytest.mark.parametrize("seed", range(2))
def test_a_node(seed):
    random_bytes_of_a_node(seed, ROUNDS)


@pytest.mark.parametrize("datagrams", [0, 1])
def test_a_wire(datagrams):
    random_packets(datagrams, ROUNDS, datagrams=datagrams)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_many(seed):
    """4,500 of each kind."""
    random_bytes_of_a_rank(seed, 150)
    random_bytes_of_a_node(seed, 150)
    random_packets(seed, 150, datagrams=seed % 2)
