"""Remote memory and messages use the same adapter: in many interleavings every byte is right, and
nobody takes the end of another's command."""

import random

import pytest

from lanai_host.body import Run
from lanai_host.bus.base import Wait
from lanai_host.device import SendMode
from lanai_host.remote import TOKEN_BYTES, Access, Atomic

from .adapters import World, memory

ALL = Access.READ | Access.WRITE | Access.ATOMIC
ROUNDS, SPAN = 12, 3000


class Rank:
    """Puts to the other's memory, gets what it has put, adds to a word there, and exchanges messages
    meanwhile."""

    def __init__(self, number, seed):
        self.number, self.chance = number, random.Random(seed + 1000 * number)
        self.blocks = []  # which must last
        self.begun = []
        self.checks = []  # block, what it must hold at the end

    def __call__(self, device):
        remote, other = device.remote, 1 - self.number
        segment = remote.allocate(4096 + ROUNDS * SPAN)
        exposure = remote.expose(segment.address, segment.size, ALL)
        theirs, token = self.body(TOKEN_BYTES)
        self.begun.append(device.receive(other, 0, 0, token))
        self.send(device, other, 0, exposure.token.ljust(TOKEN_BYTES, b"\0"))
        self.end(device)
        reach = remote.reach(other, bytes(theirs.view)[: len(exposure.token)])
        for turn in range(ROUNDS):
            self.turn(device, reach, turn)
        self.end(device)
        self.begun.append(remote.settle(other))
        self.end(device)
        for block, expected in self.checks:
            assert bytes(block.view) == expected
        _, end = self.body(1)
        self.begun.append(device.receive(other, 2, 0, end))
        self.send(device, other, 2, b"!")  # nothing more comes to the memory here
        self.end(device)
        remote.conceal(exposure)

    def turn(self, device, reach, turn):
        """A put, a message each way, in any order, and then what shows that the put came first."""
        remote, other, chance = device.remote, reach.rank, self.chance
        data = bytes(chance.randrange(256) for _ in range(chance.choice([1, 40, 1023, 1024, SPAN])))
        for step in chance.sample(["receive", "send", "put"], 3):
            if step == "receive":
                self.begun.append(device.receive(other, 1, 0, self.expect(bytes([other, turn]) * (SPAN // 2))))
            elif step == "send":
                self.send(device, other, 1, bytes([self.number, turn]) * (SPAN // 2))
            else:
                self.begun.append(remote.put(reach, 4096 + turn * SPAN, self.body(len(data), data)[1]))
            if chance.random() < 0.3:
                device.progress()
        self.begun.append(remote.get(reach, 4096 + turn * SPAN, self.expect(data)))
        before = self.expect((turn << 20).to_bytes(4, "little"))
        self.begun.append(remote.atomic(reach, 8, Atomic.ADD, 4, 1 << 20, 0, before.address))

    def body(self, size, data=b""):
        block = memory(size, data)
        self.blocks.append(block)
        return block, Run(block.address, size)

    def expect(self, data):
        block, body = self.body(len(data))
        self.checks.append((block, data))
        return body

    def send(self, device, dest, tag, data):
        mode = self.chance.choice(list(SendMode))
        self.begun.append(device.send(dest, tag, 0, self.body(len(data), data)[1], mode))

    def end(self, device):
        for operation in self.begun:
            while not operation.done:
                device.wait([operation], Wait("test"))
            assert operation.error is None, operation.error
        self.begun.clear()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("requests", [0, 1])
def test_memory_and_messages_share_the_adapter(seed, requests):
    World(2, seed).play([Rank(0, seed), Rank(1, seed)], requests=requests)
