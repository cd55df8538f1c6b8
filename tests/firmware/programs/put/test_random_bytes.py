"""Random requests of a rank, and random packets from a wire: the firmware does not stray, which plain
Python would trap, and what others ask meanwhile is done."""

import random
import struct

import pytest

from lanai_firmware.programs.put import state
from lanai_firmware.programs.put.layout import BODY, BUS, FLAG, INLINE_WORDS, KIND_AT, NODES, RING, Counter, Kind
from lanai_hdl.machine import Verdict

from .rig import CRC, FREE, HEAP, arrive, play

WORD = FREE  # of each heap: what the innocent add to
ANSWERS = range(FREE + 4, FREE + 1024)
SCRATCH = ANSWERS.stop  # what the attacker puts to, behind which there is room for its longest request
STARTS = 64
END = SCRATCH + STARTS + (1 << 16)
HIDDEN = b"neighbour" * 100  # right behind that
COUNT = 3
ROUNDS = 60


class Scene:
    """Three ranks. Rank 0 attacks; the others, and it, hold HIDDEN."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.fabric, self.hosts = play(COUNT)
        for host in self.hosts:
            host.nic.memory.remove(HEAP)
            host.heap = bytearray(END) + HIDDEN
            host.nic.memory.add(HEAP, memoryview(host.heap))
        self.attacker, *self.innocent = self.hosts
        self.added = [0] * COUNT

    def act(self, most):
        for _ in range(self.dice.randrange(most)):
            if actions := self.fabric.actions():
                self.fabric.act(self.dice.choice(actions))

    def add(self):
        """An innocent rank adds to a word of another's, if its ring has space."""
        host, node = self.dice.choice(self.innocent), self.dice.randrange(1, COUNT)
        if host.asked - host.counted(Counter.COMPLETED) < int(RING):
            host.ask(node, Kind.ADD, WORD, ANSWERS.start + 4 * (host.asked % 16), operand=1)
            self.added[node] += 1

    def settle(self):
        """All that the innocent asked for is done, and they know of no fault."""
        self.fabric.run()
        for _ in range(2 * COUNT):
            self.add()
        self.fabric.run()
        for number, host in enumerate(self.hosts):
            assert host.heap[END:] == HIDDEN
            assert host.nic.wait, "the NIC must end asleep"
            if host in self.innocent:
                assert host.word(WORD) == self.added[number]
                assert host.counter(Counter.COMPLETED) == host.asked
                assert host.counter(Counter.ANSWERED) == host.asked


def random_length(dice):
    """A word `length`, without BUS: it would let the attacker name all of a host's memory."""
    size = dice.choice([0, 1, 4, 8, 96, 97, 100, int(BODY), int(BODY) + 1, 0xFFFF, dice.randrange(1 << 16)])
    word = size | dice.randrange(8) << int(KIND_AT) | dice.choice([0, 0, int(FLAG)])
    return dice.choice([word, word, word, dice.getrandbits(32) & ~int(BUS)])


def random_node(dice):
    return dice.choice([0, 1, 2, 1, 2, COUNT, int(NODES), int(NODES) + 1, dice.getrandbits(32)])


def hostile_requests(seed, rounds):
    scene = Scene(seed)
    dice, attacker = scene.dice, scene.attacker
    for _ in range(rounds):
        if attacker.asked - attacker.counted(Counter.COMPLETED) >= int(RING):
            scene.fabric.run()
        attacker.asked += 1
        results = [HEAP + dice.randrange(SCRATCH, END - int(BODY), 4) for _ in range(int(INLINE_WORDS))]
        place = dice.randrange(SCRATCH, SCRATCH + STARTS)
        source = dice.choice([0, HEAP + FREE, HEAP + SCRATCH + 1])
        words = (0, 0, 0, *results, random_node(dice), place, random_length(dice), source, attacker.asked)
        data = struct.pack(f">{len(words)}I", *words)
        attacker.nic.pio_write(attacker.border + (attacker.asked - 1) % int(RING) * len(data), data)
        attacker.nic.ring(1)
        scene.act(20)
        if dice.random() < 0.5:
            attacker.overwrite(attacker.asked - dice.randrange(3), length=random_length(dice), node=random_node(dice))
        scene.add()
    scene.settle()
    assert [host.counter(Counter.FAULTS) for host in scene.innocent] == [0, 0]


def hostile_packets(seed, rounds):
    """They come to rank 1, some of them with the number that is the next of rank 0."""
    scene = Scene(seed)
    dice, victim = scene.dice, scene.innocent[0]
    number = 0
    for _ in range(rounds):
        which = dice.choice([0, 0, 0, int(NODES), COUNT, int(NODES) + COUNT, 2 * int(NODES), 0xFFFF])
        count = number if dice.random() < 0.7 else dice.randrange(1 << 16)
        length = random_length(dice)
        size = dice.choice([(length & 0xFFFF) + 3 & ~3, 8, 0, 4, 2048, 3000])
        verdict = dice.choice([*[int(Verdict.VALID)] * 5, CRC])
        place = dice.randrange(SCRATCH, SCRATCH + STARTS)
        arrive(scene.fabric, 1, place, length, which << 16 | count, dice.randbytes(min(size, 4096)), verdict)
        scene.act(12)
        scene.add()
        number = next_number(victim)
    scene.settle()


def next_number(victim):
    with victim.nic.machine:
        return int(state.nic.got_from[0]) & 0xFFFF


@pytest.mark.parametrize("seed", range(3))
def test_random_requests(seed):
    hostile_requests(seed, ROUNDS)


@pytest.mark.parametrize("seed", range(3))
def test_random_packets(seed):
    hostile_packets(seed, ROUNDS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_random_bytes(seed):
    """20,000 requests and 20,000 packets."""
    hostile_requests(seed, 200)
    hostile_packets(seed, 200)
