"""Remote memory and messages use the same adapter: in many interleavings every byte is right, and
neither takes the end of the other's command."""

import ctypes
import random

import pytest

from lanai_host.adapter.operation import Token
from lanai_host.body import Run
from lanai_host.device import SendMode
from lanai_host.operation import Wait
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
@pytest.mark.parametrize("requests", [False, True])
def test_memory_and_messages_share_the_adapter(seed, requests):
    World(2, seed).play([Rank(0, seed), Rank(1, seed)], requests=requests, ask_from=0)


def test_a_receive_that_is_taken_back_leaves_the_memory_of_a_put_to_the_adapter():
    """Both lie in one page, which the receive's sender may write to until then."""
    ends = []

    def origin(device):
        remote = device.remote
        page = memory(4096, b"put" * 600)
        theirs = memory(TOKEN_BYTES)
        token = device.receive(1, 0, 0, Run(theirs.address, TOKEN_BYTES))
        device.wait([token], Wait("test"))
        never = device.receive(1, 7, 0, Run(page.address + 2000, 2000))
        device.progress()
        put = remote.put(remote.reach(1, bytes(theirs.view)[: Token.SIZE]), 0, Run(page.address, 1800))
        assert device.cancel(never)
        settled = remote.settle(1)
        device.wait([settled], Wait("test"))
        ends.extend([put.error, settled.error])
        over = memory(1)
        device.wait([device.send(1, 1, 0, Run(over.address, 1), SendMode.SYNCHRONOUS)], Wait("test"))

    def target(device):
        segment = device.remote.allocate(4096)
        exposure = device.remote.expose(segment.address, segment.size, ALL)
        token, over = memory(TOKEN_BYTES, exposure.token.ljust(TOKEN_BYTES, b"\0")), memory(1)
        sent = device.send(0, 0, 0, Run(token.address, TOKEN_BYTES), SendMode.SYNCHRONOUS)
        received = device.receive(0, 1, 0, Run(over.address, 1))
        for operation in (sent, received):
            while not operation.done:
                device.wait([operation], Wait("test"))
        assert bytes((ctypes.c_char * 1800).from_address(segment.address)) == b"put" * 600

    for seed in range(20):
        World(2, seed).play([origin, target])
    assert ends == [None] * 40
