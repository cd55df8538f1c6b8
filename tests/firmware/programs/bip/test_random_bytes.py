"""Random words of a rank, and random packets from a wire: the firmware does not stray, which plain Python would
trap, and what others ask meanwhile is done."""

import random

import pytest

from lanai_firmware.programs.bip.layout import SHORT, Word

from ..rig import CRC, pattern
from .rig import PAGE, USER, arrive, mark, play

COUNT = 3
ROUNDS = 40


class Scene:
    """Three ranks. Rank 0 attacks. Rank 1 sends to rank 2, and to itself, all the while."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.fabric, self.hosts = play(COUNT)
        self.attacker, self.sender, self.receiver = self.hosts
        self.sent = 0
        self.sender.user[: 3 * PAGE] = pattern(3 * PAGE)

    def act(self, most):
        for _ in range(self.dice.randrange(most)):
            if actions := self.fabric.actions():
                self.fabric.act(self.dice.choice(actions))

    def exchange(self):
        """A short message and a long one of the innocent arrive, whatever else is going on."""
        first, size, packet = self.dice.randrange(PAGE), self.dice.randrange(1, 5000), self.dice.choice([4, 400, 4096])
        target = self.dice.choice([self.sender, self.receiver])
        target.land(1, size, first=first, pages=range(USER + 16 * PAGE, USER + 64 * PAGE, PAGE))
        self.sender.send(target.number, b"innocent")
        self.sender.send_long(target.number, size, first=1, packet=max(packet, 4 * (size // 200)))
        self.fabric.run()
        assert target.all_arrived(1)[-1] == b"innocent"
        assert target.user[16 * PAGE + first : 16 * PAGE + first + size] == pattern(3 * PAGE)[1 : 1 + size]
        assert self.sender.word(Word.LONGS) == self.sender.longs


def random_word(dice):
    return dice.choice([0, 1, 2, 4, 8, 20, PAGE, PAGE - 1, 1 << 31, dice.randrange(1 << 14), dice.getrandbits(32)])


def hostile_requests(seed, rounds):
    scene = Scene(seed)
    dice, attacker = scene.dice, scene.attacker
    for _ in range(rounds):
        kind = dice.randrange(3)
        pages = [dice.choice([USER, USER + PAGE, 0x2200_0000, random_word(dice)]) for _ in range(64)]
        if kind == 0:
            what = dice.choice([dice.randrange(5) << 16 | dice.randrange(600), random_word(dice)])
            attacker.send(0, dice.randbytes(4 * dice.randrange(int(SHORT) // 4)), what)
        elif kind == 1:
            node = dice.choice([0, 1, 2, 3, random_word(dice)])
            words = (random_word(dice), random_word(dice), random_word(dice))
            attacker.longs = attacker.counted(Word.LONGS)
            attacker.send_long(node, *words, pages=pages)
        else:
            attacker.land(dice.randrange(COUNT), random_word(dice), random_word(dice), pages)
        scene.act(30)
        if dice.random() < 0.2:
            scene.exchange()
    scene.exchange()
    assert b"innocent" not in attacker.memory


def hostile_packets(seed, rounds):
    """They come to rank 2, some of them with the number that is the next of rank 0."""
    scene = Scene(seed)
    dice = scene.dice
    for number in range(rounds):
        node = dice.choice([0, 0, 0, COUNT, 255])
        size = dice.choice([0, 4, 8, 12, 64, int(SHORT), int(SHORT) + 4, 4096, 4104, 5000])
        length = dice.choice([size, size - 8, size - 9, dice.randrange(1 << 13)]) & 0x1FFF
        word = dice.choice([mark(node, number, length, part=dice.random() < 0.5)] * 5 + [dice.getrandbits(32)])
        if word >> 21 & 0xFF == 1:
            continue  # it would be a packet of the innocent
        arrive(scene.fabric, 2, dice.randbytes(size), word, *([CRC] if dice.random() < 0.1 else []))
        scene.act(12)
        if dice.random() < 0.2:
            scene.exchange()
    scene.exchange()


@pytest.mark.parametrize("seed", range(3))
def test_random_requests(seed):
    hostile_requests(seed, ROUNDS)


@pytest.mark.parametrize("seed", range(3))
def test_random_packets(seed):
    hostile_packets(seed, ROUNDS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_many_random_bytes(seed):
    hostile_requests(seed, 200)
    hostile_packets(seed, 200)
