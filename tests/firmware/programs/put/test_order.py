"""Rules of order, one event before another: the engines of one NIC stand still until the rule would
be broken."""

import random
import struct

import pytest

from lanai_firmware.programs.put import state
from lanai_firmware.programs.put.layout import (
    BODY,
    BUS,
    CLOSED,
    FLAG,
    INLINE_WORDS,
    KIND_AT,
    NODES,
    OUTSTANDING,
    RING,
    Counter,
    Kind,
)
from lanai_firmware.programs.put.state import BUFFERS
from lanai_hdl.machine import Verdict

from ..rig import CRC, go_on
from .rig import FREE, HEAP, arrive, play

A, B, C = FREE, FREE + 256, FREE + 512
NOWHERE = 0x7000_0000


def numbered(n):
    return bytes([n + 1]) * 8


def held_back(fabric, sender, kept):
    """Packets of a NIC are kept until `release` is called."""
    fabric.filter = lambda source, target, packet: (kept.append(packet) or []) if source == sender else [packet]

    def release(target):
        fabric.filter = lambda source, target, packet: [packet]
        fabric.wires.setdefault((sender, target), type(fabric.nics[0].wire)()).extend(kept)
        fabric.run()

    return release


def test_a_flag_waits_until_all_before_it_is_in_memory():
    """Else a write that fails later would not keep it back."""
    fabric, (one, two) = play(2)
    one.put(1, NOWHERE - HEAP, b"lost")
    one.request(1, Kind.PUT, A, 4 | int(FLAG), b"flag")
    go_on(fabric, ("copy", 1))
    fabric.run()
    assert two.counter(Counter.FAULTS) == 1
    assert not any(two.heap[A : A + 4])


def test_a_fence_is_answered_when_all_before_it_is_in_memory():
    fabric, (one, two) = play(2)
    one.put(1, A, b"data")
    one.ask(1, Kind.FENCE, 0, C)
    go_on(fabric, ("copy", 1))
    assert one.counted(Counter.ANSWERED) == 0
    fabric.run()
    assert one.counter(Counter.ANSWERED) == 1
    assert two.heap[A : A + 4] == b"data"


def test_nothing_passes_a_fence():
    """Neither a put nor a question, until it is answered."""
    fabric, (one, two) = play(2)
    kept = []
    release = held_back(fabric, 1, kept)
    one.ask(1, Kind.FENCE, 0, C)
    one.put(1, A, b"data")
    one.ask(1, Kind.ADD, B, C, operand=1)
    fabric.run()
    assert not any(two.heap[A:C])
    assert len(kept) == 1
    release(0)
    assert two.heap[A : A + 4] == b"data"
    assert two.word(B) == 1


def test_no_more_questions_are_open_than_other_nics_have_room_for():
    fabric, (one, two) = play(2)
    kept = []
    release = held_back(fabric, 1, kept)
    for n in range(5):
        one.ask(1, Kind.ADD, A, B + 4 * n, operand=1)
    fabric.run()
    assert two.word(A) == len(kept) == int(OUTSTANDING)
    release(0)
    assert two.word(A) == 5


def test_a_packet_leaves_when_its_bytes_are_there():
    fabric, (one, two) = play(2)
    one.heap[B : B + 8] = numbered(0)
    one.request(1, Kind.PUT, A, 8, source=HEAP + B)
    go_on(fabric, ("copy", 0))
    assert not any(fabric.wires.values())
    assert two.counted(Counter.RECEIVED) == 0
    fabric.run()
    assert two.heap[A : A + 8] == numbered(0)


def test_an_answer_leaves_when_its_bytes_are_there():
    fabric, (one, two) = play(2)
    two.heap[A : A + 8] = numbered(0)
    one.ask(1, Kind.GET, A, B, 8)
    go_on(fabric, ("copy", 1))
    assert one.counted(Counter.ANSWERED) == 0
    fabric.run()
    assert one.heap[B : B + 8] == numbered(0)


@pytest.mark.parametrize("kind", [Kind.SWAP, Kind.ADD])
def test_a_word_is_answered_when_it_has_been_read_and_changed(kind):
    fabric, (one, two) = play(2)
    two.set_word(A, 7)
    one.ask(1, kind, A, B, operand=3)
    go_on(fabric, ("copy", 1))
    two.nic.ring(1)  # another turn, in which the word is not there
    go_on(fabric, ("copy", 1))
    assert one.counted(Counter.ANSWERED) == 0
    fabric.act(("copy", 1, 0))  # it is read
    go_on(fabric, ("copy", 1))
    assert one.counted(Counter.ANSWERED) == 0, "it is not written"
    fabric.run()
    assert (one.word(B), two.word(A)) == (7, 10 if kind is Kind.ADD else 3)


def test_a_packet_on_its_way_out_is_not_overwritten():
    count = 2 * BUFFERS
    fabric, (one, two) = play(2)
    for n in range(count):
        one.put(1, A + 8 * n, numbered(n))
    go_on(fabric, ("send", 0))
    fabric.run()
    assert two.heap[A : A + 8 * count] == b"".join(map(numbered, range(count)))


def test_an_answer_on_its_way_out_is_not_overwritten():
    count = 2 * BUFFERS
    fabric, (one, *others) = play(count // int(OUTSTANDING) + 1)
    for n in range(count):
        one.set_word(A + 4 * n, n + 1)
        others[n // int(OUTSTANDING)].ask(0, Kind.GET, A + 4 * n, B + 4 * n)
    go_on(fabric, ("send", 0))
    fabric.run()
    assert [others[n // int(OUTSTANDING)].word(B + 4 * n) for n in range(count)] == list(range(1, count + 1))


def test_a_packet_that_has_arrived_is_not_overwritten_before_its_bytes_are_in_memory():
    count = 3 * BUFFERS
    fabric, (one, two) = play(2)
    for n in range(count):
        one.put(1, A + 8 * n, numbered(n))
    go_on(fabric, ("copy", 1))
    fabric.run()
    assert two.heap[A : A + 8 * count] == b"".join(map(numbered, range(count)))


def test_the_host_finds_the_bytes_when_it_finds_the_count():
    """The second report is not written into the first one, which may still be on its way."""
    fabric, (one, two) = play(2)
    seen = set()
    for n in range(4):
        one.put(1, A + 8 * n, numbered(n))
        go_on(fabric, ("copy", 1))
    while actions := fabric.actions():
        for action in actions:
            fabric.act(action)
            count = two.counter(Counter.RECEIVED)
            assert two.heap[A : A + 8 * count] == b"".join(map(numbered, range(count)))
            seen.add(count)
    assert len(seen) > 2


def test_memory_is_released_when_nothing_is_on_its_way_to_it():
    fabric, (one, two) = play(2)
    one.put(1, A, b"data")
    go_on(fabric, ("copy", 1))
    two.write("heap", int(CLOSED))
    go_on(fabric, ("copy", 1))
    assert two.read("released") == 0
    fabric.run()
    assert two.read("released") == 1


def test_no_more_copies_are_queued_than_the_host_dma_takes():
    """Gets and puts at once: each takes a place in the queue of both NICs."""
    fabric, hosts = play(3)
    for n in range(8):
        for host in hosts:
            for node in range(3):
                host.request(node, Kind.PUT, C + 4 * n, 4, source=HEAP + A)
                host.ask(node, Kind.ADD, B, B + 8, operand=1)
        for number in (0, 1, 2):
            go_on(fabric, *(("copy", other) for other in range(3) if other != number))
    fabric.run()
    for host in hosts:
        assert (host.counter(Counter.RECEIVED), host.counter(Counter.FAULTS)) == (24, 0)


# Random requests of a rank, and random packets from a wire: the firmware does not stray, which plain Python would
# trap, and what others ask meanwhile is done.


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
