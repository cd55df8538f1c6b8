"""Two adapters, packets carried between them as faithfully as a test wants: what one asks of the
other's memory is what becomes of it."""

import random

import pytest

from lanai_hdl.remote.reference import compute

from .bench import ALL, ROUTE, SESSION, SMALL, Atomic, Op, Side, Status, play


class Link:
    """Carries packets both ways. `fate(words)` gives the packets to deliver for one that was
    sent."""

    def __init__(self, sides, fate=lambda words: [words]):
        self.sides, self.fate = sides, fate

    async def carry(self, context):
        while True:
            await context.tick()
            for here, there in (self.sides, self.sides[::-1]):
                while here.sent:
                    for words in self.fate(here.sent.pop(0)):
                        there.arrive(words)


def between(script, fate=lambda words: [words], *, append=0, config=SMALL, watch=None, **options):
    """Runs `script(context, source, target)`; the target exposes 3 pages as exposure 2, the source
    its own as 5.

    `append`: others may append to FIFOs in the target's exposure. `watch(context, source)` looks on.
    """
    sides = Side(0, config=config, **options), Side(1, config=config)

    async def whole(context):
        for side in sides:
            await side.boot(context)
        await sides[0].expose(context, 5, 0, 3 * 4096)
        await sides[1].expose(context, 2, 0, 3 * 4096, append=append, **ALL)
        await script(context, *sides)
        for side in sides:
            await side.rest(context)

    async def looks_on(context):
        await watch(context, sides[0])

    play(sides, whole, wire=Link(sides, fate).carry, watch=watch and looks_on)
    return sides


def test_writes_and_reads_move_every_byte():
    chance = random.Random(1)

    async def script(context, source, target):
        for n, size in enumerate((1, 3, 4, 63, 64, 65, 300)):
            data = chance.randbytes(size)
            here, there, back = 4001 + n, 4090 - 3 * n, 6001 + n
            source.load(here, data)
            assert await source.command(context, Op.WRITE, 1, 2, there, size, 5, here) is Status.OK
            assert target.dump(there, size) == data
            assert await source.command(context, Op.READ, 1, 2, there, size, 5, back) is Status.OK
            assert source.dump(back, size) == data
            assert source.dump(back - 1, 1) == b"\0" or n

    between(script)


def test_atomics_change_the_word_and_bring_what_it_was():
    steps = [
        (Atomic.ADD, 5, 0, 7),
        (Atomic.SWAP, 100, 0, 12),
        (Atomic.CAS, 1, 99, 100),
        (Atomic.CAS, 1, 100, 100),
        (Atomic.OR, 0xF0, 0, 1),
        (Atomic.AND, 0x3F, 0, 0xF1),
        (Atomic.XOR, 0x11, 0, 0x31),
        (Atomic.ADD, 0xFFFFFFFF, 0, 0x20),
    ]

    async def script(context, source, target):
        target.load(8, (7).to_bytes(4, "big"))
        for atomic, operand, comparand, before in steps:
            options = {"atomic": atomic, "operand": operand, "comparand": comparand}
            assert await source.command(context, Op.ATOMIC, 1, 2, 8, 0, **options) is Status.OK
            assert source.result() == before, atomic
        assert target.dump(8, 4) == (0x1F).to_bytes(4, "big")

    assert between(script)[1].counts["REMOTE_ATOMICS"] == len(steps)


WIDE = [
    (Atomic.ADD, 0xFFFFFFFF, 0),  # a carry into the upper half
    (Atomic.SWAP, 0x0123456789ABCDEF, 0),
    (Atomic.CAS, 7, 0x0123456700000000 | 0x89ABCDEE),  # the lower half differs
    (Atomic.CAS, 7, 0x89ABCDEF),  # the upper half differs
    (Atomic.CAS, 0xF0F0F0F0F0F0F0F0, 0x0123456789ABCDEF),
    (Atomic.OR, 0x0F00000000000001, 0),
    (Atomic.AND, 0xFF00000000FFFFFF, 0),
    (Atomic.XOR, 0x1100000000000011, 0),
    (Atomic.ADD, (1 << 64) - 1, 0),
]


@pytest.mark.parametrize("order", ["big", "little"])
def test_atomics_of_8_bytes_are_one_number(order):
    async def script(context, source, target):
        await target.expose(context, 2, 0, 3 * 4096, little=order == "little", **ALL)
        value = 0x11223344_FFFFFFFF
        target.load(16, value.to_bytes(8, order))
        for atomic, operand, comparand in WIDE:
            options = {"atomic": atomic, "operand": operand, "comparand": comparand, "wide": 1}
            assert await source.command(context, Op.ATOMIC, 1, 2, 16, 0, **options) is Status.OK
            assert source.result(wide=1) == value, atomic
            value = compute(atomic, value, operand, comparand, 64)
            assert target.dump(16, 8) == value.to_bytes(8, order), atomic
        assert await source.command(context, Op.ATOMIC, 1, 2, 20, 0, atomic=Atomic.ADD, wide=1) is Status.ALIGNMENT
        assert target.dump(12, 4) == target.dump(24, 4) == bytes(4)

    between(script)


def test_each_packet_has_the_route_of_its_peer():
    side, peers = Side(0), [1, 3, 2, 1]

    async def script(context):
        await side.boot(context)
        await side.expose(context, 5, 0, 4096)
        for buffer, peer in enumerate(peers):
            await side.start(context, Op.READ, peer, 2, 0, 4, 5, 0, buffer=buffer)
        while len(side.routes) < len(peers):
            await context.tick()

    play([side], script)
    assert side.routes == [ROUTE + peer for peer in peers]


def test_a_dead_peer_is_lost_and_the_host_is_told():
    async def script(context, source, target):
        commands = [await source.start(context, Op.WRITE, 1, 2, 0, 4, 5, 0, buffer=n) for n in range(3)]
        for n, tag in enumerate(commands):
            assert await source.end(context, tag, n) is Status.LOST
        assert context.get(source.dut.lost) == 1 << 31 | SESSION << 8 | 1

    source, _ = between(script, lambda words: [], timeout=300, retries=2)
    assert source.counts["REMOTE_TIMEOUTS"] == 3
