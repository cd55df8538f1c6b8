"""Random messages between devices over modelled adapters, in many interleavings: every byte right, no message
overtaken, nothing forgotten.
"""

import random

from lanai_host.body import Run, Runs
from lanai_host.device import SendMode
from lanai_host.operation import ANY_SOURCE, ANY_TAG, Wait

from .adapters import World, memory

EXACT, ANY_TAGS, ANY_SOURCES, NEVER = range(4)  # contexts: what their receives name
SIZES = [0, 1, 40, 900, 990, 1024, 2100, 5000, 20_000]


def content(source, dest, number, size):
    return bytes((source * 101 + dest * 31 + number * 7 + at) % 251 for at in range(size))


class Rank:
    """One rank's traffic: sends and receives begun in any order, messages taken by a probe, receives taken back, polls
    between; at last it waits for all.
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
                found = device.probe(peer, tag, context, True) if chance.random() < 0.3 else None
                if found is None:
                    operation = device.receive(peer, tag, context, body)
                else:
                    operation = device.receive_taken(found, body)
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


def compare(ranks, count, seed, *kind, **options):
    """Run so many messages of each pair of ranks; gives the devices, closed. `kind`: arguments of `World`."""
    chance = random.Random(seed)
    made = plans(ranks, count, chance)
    sent = {(s, d): [one for one in made[s] if one[0] == "send" and one[1] == d] for s in made for d in made}
    programs = [Rank(n, made[n], seed * 10 + n) for n in range(ranks)]
    devices = World(ranks, seed, *kind).play(programs, **options)
    for program in programs:
        check(program, ranks, sent)
    return devices
