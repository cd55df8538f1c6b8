"""Random bytes of a rank, and random packets from a wire: the daemon does not stray, which plain Python
would trap, writes to no memory but the places for packets, and what others send arrives."""

import random

import pytest

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.ccu import state
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
    Packet,
)

from .daemons import CRC, Daemons

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
