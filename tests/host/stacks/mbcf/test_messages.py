"""Messages between devices over modelled adapters, in many interleavings: every byte right, no
message overtaken, nothing forgotten."""

import random
from itertools import pairwise
from types import SimpleNamespace

import pytest
from pairs import first_of

from lanai_hdl.remote.packets import Op
from lanai_host.adapter.jobs import Job, Jobs, ignored
from lanai_host.adapter.operation import Token
from lanai_host.body import Run, Runs
from lanai_host.bus.base import PAGE_SIZE
from lanai_host.config import free
from lanai_host.device import SendMode
from lanai_host.host_model.meter import Meter
from lanai_host.operation import ANY_SOURCE, ANY_TAG, Wait
from lanai_host.stacks.mbcf.layout import BLOCK_BYTES, ROOM_AT, MbcfOptions, Queue, QueueLayout

from .adapters import World, memory

EXACT, ANY_TAGS, ANY_SOURCES, NEVER = range(4)  # contexts: what their receives name
SIZES = [0, 1, 40, 900, 990, 1024, 2100, 5000, 20_000]


def content(source, dest, number, size):
    return bytes((source * 101 + dest * 31 + number * 7 + at) % 251 for at in range(size))


class Rank:
    """One rank's traffic: sends and receives begun in any order, receives taken back, polls between; at last it waits
    for all.
    """

    def __init__(self, number, plan, seed):
        self.number, self.plan, self.chance = number, plan, random.Random(seed)
        self.received = []

    def body(self, size, data=b""):
        """Memory in one run or in several, and what keeps it."""
        block = memory(2 * size + 1, b"")
        if size > 1 and self.chance.random() < 0.3:
            half = size // 2
            runs = [(block.address, half), (block.address + size + 1, size - half)]
            block.view[:half] = data[:half].ljust(half, b"\0")
            block.view[size + 1 : size + 1 + size - half] = data[half:].ljust(size - half, b"\0")
            return Runs(runs), block
        block.view[:size] = data.ljust(size, b"\0")
        return Run(block.address, size), block

    def __call__(self, device):
        chance, pending = self.chance, []
        for action in self.plan:
            kind, peer, tag, context, size, number = action
            if kind == "send":
                body, block = self.body(size, content(self.number, peer, number, size))
                mode = chance.choice(list(SendMode))
                pending.append((device.send(peer, tag, context, body, mode), block))
            else:
                body, block = self.body(size + chance.choice([0, 0, 5]))
                operation = device.receive(peer, tag, context, body)
                self.received.append((action, operation, body, block))
                pending.append((operation, block))
            if chance.random() < 0.1:
                body, block = self.body(3000)
                never = device.receive(chance.choice(range(device.size)), 1, NEVER, body)
                for _ in range(chance.randrange(3)):
                    device.progress()
                assert device.cancel(never)
                assert never.cancelled
            if chance.random() < 0.4:
                device.progress()
        for operation, _ in pending:
            while not operation.done:
                device.wait([operation], Wait("test"))
            assert operation.error is None, operation.error


def plans(ranks, count, chance):
    """For each rank, its sends and the receives that they need, in a random order that keeps those
    of one kind in order."""
    found = {rank: [] for rank in range(ranks)}
    for source in range(ranks):
        for dest in range(ranks):
            sends, receives = [], []
            for number in range(count):
                context = chance.choice([EXACT, EXACT, ANY_TAGS, ANY_SOURCES])
                tag = 7 if context == ANY_SOURCES else chance.randrange(3)
                size = chance.choice(SIZES)
                sends.append(("send", dest, tag, context, size, number))
                receives.append((source, tag, context, size, number))
            found[source].append(sends)
            found[dest].append([receive_of(*one) for one in shuffled(receives, chance)])
    return {rank: merged(lists, chance) for rank, lists in found.items()}


def shuffled(receives, chance):
    """Receives that name other tags change places; those that could take each other's message do
    not."""
    by_key = {}
    for source, tag, context, size, number in receives:
        key = (context, tag if context == EXACT else None)
        by_key.setdefault(key, []).append((source, tag, context, size, number))
    order = merged([list(lists) for lists in by_key.values()], chance)
    return order


def receive_of(source, tag, context, size, number):
    if context == ANY_TAGS:
        return ("receive", source, ANY_TAG, context, size, number)
    if context == ANY_SOURCES:
        return ("receive", ANY_SOURCE, tag, context, max(SIZES), number)
    return ("receive", source, tag, context, size, number)


def merged(lists, chance):
    lists, order = [list(one) for one in lists if one], []
    while lists:
        chosen = chance.choice(lists)
        order.append(chosen.pop(0))
        lists = [one for one in lists if one]
    return order


def check(rank, ranks, sent):
    """Each receive has the message that it should have."""
    last = {}
    for (_, peer, tag, context, _, number), operation, body, _ in rank.received:
        data = body.read()[: operation.length]
        if context == ANY_SOURCES:
            numbers = [one[5] for one in sent[operation.source, rank.number] if one[3] == ANY_SOURCES]
            number = numbers[last.setdefault(operation.source, 0)]
            last[operation.source] += 1
        else:
            assert operation.source == peer
            assert tag in (ANY_TAG, operation.tag)
        assert data == content(operation.source, rank.number, number, operation.length), (peer, tag, context, number)
        expected = next(one[4] for one in sent[operation.source, rank.number] if one[5] == number)
        assert operation.length == expected


def compare(ranks, count, seed, **options):
    chance = random.Random(seed)
    made = plans(ranks, count, chance)
    sent = {(s, d): [one for one in made[s] if one[0] == "send" and one[1] == d] for s in made for d in made}
    programs = [Rank(n, made[n], seed * 10 + n) for n in range(ranks)]
    devices = World(ranks, seed).play(programs, **options)
    for program in programs:
        check(program, ranks, sent)
    return devices


@pytest.mark.parametrize(
    "options",
    first_of(
        {"fifo_pages": 1, "window": 2, "ask_from": 0},
        {},
        {"requests": False},
        {"request_list": True, "ask_from": 0},
        {"greet": 0},
        {"fifo_pages": 1, "requests": False, "quiet": 3},
    ),
    ids=["small", "sr", "nsr", "list", "greet", "quiet"],
)
def test_random_traffic(options):
    written = queued = 0
    for seed in range(4):
        devices = compare(3, 12, seed, **options)
        written += sum(device.read_counter("mbcf_written") for device in devices)
        queued += sum(device.read_counter("mbcf_queued") for device in devices)
    assert queued > 100
    assert (written > 10) == options.get("requests", True)


# The queue of commands to the adapter.


@pytest.mark.parametrize("begun_before", [False, True])
def test_a_job_that_will_not_begin_is_told_of_once(begun_before):
    """Also if that was found out between two looks: what waits for it may go on."""

    def none_ended():
        return []

    commands = SimpleNamespace(free=0, take_ended=none_ended)
    jobs = Jobs(SimpleNamespace(share=lambda: commands), 100, Meter(free(), None))
    jobs.add(Job(Op.APPEND, Token(1, 0, 1, 0, 8), 0, "a record", ignored, b"1", begins=lambda: False))
    if begun_before:
        jobs.begin()
    assert [jobs.advance() for _ in range(2)] == [True, False]


# The layout of a rank's queues in its memory.


@pytest.mark.parametrize("ranks", [2, 5, 16])
def test_each_peer_has_a_fifo_for_requests_and_one_for_messages(ranks):
    """Control words and rings of all of them lie apart, and inside the queues' memory."""
    layout = QueueLayout(ranks, MbcfOptions(fifo_pages=4, request_pages=2))
    each = [(peer, queue) for peer in range(ranks) for queue in Queue]
    assert len(each) == 2 * ranks
    spans = [(layout.control(*one), layout.control(*one) + BLOCK_BYTES) for one in each]
    rings = [(layout.ring(*one) * PAGE_SIZE, (layout.ring(*one) + layout.pages(one[1])) * PAGE_SIZE) for one in each]
    assert all(layout.room(*one) == layout.control(*one) + ROOM_AT for one in each)
    spans = sorted([*spans, *rings])
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
    assert spans[-1][1] == layout.size
    assert all(layout.ring(*one) % layout.pages(one[1]) == 0 for one in each)
