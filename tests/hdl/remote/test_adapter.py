"""Two NICs on a cable, each with an adapter: what one process asks of another's memory is what becomes of it."""

import random

from lanai_hdl.bfm import Pair

from .bench import ALL, CONFIG, Atomic, Op, Process, Status, set_up

KEY = 0x1234


def pair(*stories, slots=60_000):
    Pair(CONFIG, slots=slots).does(*stories)


async def serve(context, world):
    """A host whose process 1 exposes 3 pages as its exposure 2, and does nothing more."""
    await set_up(world, 1)
    process = Process(world, 1)
    await process.begin()
    await process.expose(2, 0, 3 * 4096, KEY, **ALL)
    return process


async def begin(context, world):
    """A host with a process whose exposure 5 is its own memory, for local use; it has waited until the other is ready."""
    await set_up(world, 0)
    process = Process(world, 0)
    await process.begin()
    await process.expose(5, 0, 3 * 4096)
    await context.tick().repeat(2000)
    return process


TARGET = 16 + 2  # exposure 2 of process 1


def test_a_write_lands_byte_for_byte():
    chance = random.Random(1)
    data = chance.randbytes(300)
    done = []

    async def source(context, world):
        process = await begin(context, world)
        world.memory.load(process.address(4001), data)  # across a page boundary
        done.append(await process.command(context, Op.WRITE, 1, TARGET, KEY, 4090, len(data), 5, 4001))
        assert await world.host.read_register("REMOTE_TIMEOUTS") == 0

    async def target(context, world):
        process = await serve(context, world)
        while not done:
            await context.tick()
        assert world.memory.dump(process.address(4090), len(data)) == data
        assert world.memory.dump(process.address(4080), 10) == bytes(10)
        assert world.memory.dump(process.address(4390), 10) == bytes(10)

    pair(source, target)
    assert done == [Status.OK]


def test_a_read_brings_the_bytes():
    data = random.Random(2).randbytes(333)
    done = []

    async def source(context, world):
        process = await begin(context, world)
        done.append(await process.command(context, Op.READ, 1, TARGET, KEY, 4002, len(data), 5, 103))
        assert world.memory.dump(process.address(103), len(data)) == data
        assert world.memory.dump(process.address(100), 3) == bytes(3)
        assert world.memory.dump(process.address(103 + len(data)), 4) == bytes(4)

    async def target(context, world):
        process = await serve(context, world)
        world.memory.load(process.address(4002), data)
        while not done:
            await context.tick()

    pair(source, target)
    assert done == [Status.OK]


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
    done = []

    async def source(context, world):
        process = await begin(context, world)
        for atomic, operand, comparand, before in steps:
            status = await process.command(
                context, Op.ATOMIC, 1, TARGET, KEY, 8, 0, 5, 40, atomic=atomic, operand=operand, comparand=comparand
            )
            assert status is Status.OK
            assert process.result() == before, atomic
        done.append(1)

    async def target(context, world):
        process = await serve(context, world)
        world.memory.load(process.address(8), (7).to_bytes(4, "big"))
        while not done:
            await context.tick()
        assert int.from_bytes(world.memory.dump(process.address(8), 4), "big") == 0x1F
        assert await world.host.read_register("REMOTE_ATOMICS") == len(steps)

    pair(source, target)
