"""Random traffic: every rank sends to every rank, itself included, and receives by name, by tag and
by wildcard.

A receive is only posted if it is sure to be met: of the messages that it matches, more are
outstanding than receives that could take one of them are pending. So no choice of the dice can
deadlock, and receives of all kinds compete for the same messages.
"""

import random
from dataclasses import dataclass

import pytest

from lanai_firmware.programs.mpi_np.plan import McpConfig, paper
from lanai_host.operation import ANY_SOURCE, ANY_TAG

from .np_world import STANDARD, SYNCHRONOUS, World, irecv, isend, pattern, wait

RANKS, COUNT, TAGS = 3, 40, 3
SIZES = (0, 4, 100, 1024, 1500, 4096, 5000, 12345)
LONGEST = 20_000
CONFIGS = (
    McpConfig(messages=8, receives=8, any_receives=2, ack_slots=2),
    McpConfig(),
    paper(),
    McpConfig(messages=8, ack_slots=1, eager_limit=0, unpaid_limit=100),
    McpConfig(messages=8, ack_slots=2, eager_limit=2048, send_buffer=4608),
    paper().but(quick=0, optimize=0),
)


@dataclass(frozen=True)
class Message:
    """One message of the plan: the `index`-th from `source` to its receiver."""

    source: int
    index: int
    tag: int
    size: int
    synchronous: bool

    @property
    def data(self):
        return self.source.to_bytes(1, "big") + self.index.to_bytes(2, "big") + pattern(self.size, self.index)


@dataclass
class Receive:
    """One posted receive; `got` is the message that met it."""

    source: int
    tag: int
    pair: tuple
    got: Message | None = None

    def may_take(self, message):
        return self.source in (ANY_SOURCE, message.source) and self.tag in (ANY_TAG, message.tag)


def overlap(a, b):
    """Could one message match both receives?"""
    sources = ANY_SOURCE in (a.source, b.source) or a.source == b.source
    return sources and (ANY_TAG in (a.tag, b.tag) or a.tag == b.tag)


def check_order(receives):
    """Nonovertaking: of two messages of one source that an earlier receive matches, it takes the
    one sent first. `receives` are in the order in which they were posted."""
    for place, first in enumerate(receives):
        for later in receives[place + 1 :]:
            if first.got.source == later.got.source and first.got.index > later.got.index:
                assert not first.may_take(later.got), f"{later.got} was overtaken by {first.got}"


class Inbox:
    """The receiving half of one rank."""

    def __init__(self, device, incoming, dice):
        self.device, self.dice = device, dice
        self.left = {(m.source, m.index): m for m in incoming}
        self.posted, self.pending = [], []

    def post(self):
        """Post one receive of a random kind."""
        kinds = [(ANY_SOURCE, ANY_TAG)]
        source, tag = self.dice.randrange(RANKS), self.dice.randrange(TAGS)
        kinds += [(ANY_SOURCE, tag), (source, ANY_TAG), (source, tag)]
        possible = [Receive(source, tag, ()) for source, tag in kinds]
        receive = self.dice.choice([one for one in possible if self.surely_met(one)])
        receive.pair = irecv(self.device, receive.source, LONGEST, receive.tag, context=1)
        self.posted.append(receive)
        self.pending.append(receive)

    def surely_met(self, receive):
        matching = sum(receive.may_take(message) for message in self.left.values())
        return matching > sum(overlap(receive, other) for other in self.pending)

    def wait_for_one(self):
        wait(self.device, self.dice.choice(self.pending).pair)
        self.collect()

    def collect(self):
        """Check what has come."""
        for receive in [one for one in self.pending if one.pair[0].done]:
            operation, buffer = receive.pair
            assert operation.error is None
            data = buffer.data[: operation.length]
            receive.got = self.left.pop((data[0], int.from_bytes(data[1:3], "big")))
            assert receive.may_take(receive.got)
            assert (operation.source, operation.tag) == (receive.got.source, receive.got.tag)
            assert data == receive.got.data
            self.pending.remove(receive)

    def finish(self):
        while self.pending:
            self.wait_for_one()
        assert not self.left
        check_order(self.posted)


def draw(dice):
    """Return random messages from each rank to each."""
    return {
        (a, b): [
            Message(a, index, dice.randrange(TAGS), dice.choice(SIZES), dice.random() < 0.2) for index in range(COUNT)
        ]
        for a in range(RANKS)
        for b in range(RANKS)
    }


@pytest.mark.parametrize(
    "seed",
    [
        0,
        *(pytest.param(seed, marks=pytest.mark.ci) for seed in (1, 2, 3, 5)),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in (4, *range(6, 24))),
    ],
)
def test_random_traffic(seed):
    dice = random.Random(seed)
    plan = draw(dice)
    kinds = set()

    def program(device):
        mine = random.Random(f"{seed}/{device.rank}")
        inbox = Inbox(device, [m for source in range(RANKS) for m in plan[source, device.rank]], mine)
        for _ in range(mine.randrange(RANKS * COUNT // 2)):  # these are waiting when their messages come
            inbox.post()
        outgoing = [
            isend(device, b, m.data, m.tag, context=1, mode=SYNCHRONOUS if m.synchronous else STANDARD)
            for messages in zip(*(plan[device.rank, b] for b in range(RANKS)), strict=True)
            for b, m in enumerate(messages)
        ]
        while len(inbox.posted) < RANKS * COUNT:
            inbox.post()
            if mine.random() < 0.3:
                inbox.wait_for_one()
        inbox.finish()
        wait(device, *outgoing)
        kinds.update((one.source == ANY_SOURCE, one.tag == ANY_TAG) for one in inbox.posted)

    World(RANKS, dice.choice([1, 2, 3]), CONFIGS[seed % len(CONFIGS)]).run(program)
    assert len(kinds) == 4  # receives of every kind were tried


def test_the_order_check_finds_an_overtaken_message():
    first, second = (Message(0, index, 1, 0, False) for index in range(2))
    right = [Receive(ANY_SOURCE, 1, (), first), Receive(0, ANY_TAG, (), second)]
    check_order(right)
    with pytest.raises(AssertionError, match="overtaken"):
        check_order([Receive(ANY_SOURCE, 1, (), second), Receive(0, ANY_TAG, (), first)])
    check_order([Receive(0, 2, (), Message(0, 1, 2, 0, False)), Receive(0, ANY_TAG, (), first)])
