"""Stores to the aperture land in the peer's memory, loads from it read that, and the next NOP reports
how they ended."""

import random
from dataclasses import replace

import pytest

from lanai_hdl.remote.packets import word
from lanai_hdl.remote.tables import MapPlaceWord, MapWord, aperture_at, map_at

from .bench import KEY, SMALL, Op, Status
from .test_adapter import between

pytestmark = pytest.mark.slow  # two adapters in Amaranth's simulator: six seconds a test

CONFIG = replace(SMALL, streams=4, stream_bytes=32)
BLOCK = CONFIG.stream_bytes
# Maps of pages that may not be accessed, and why.
REFUSED = (
    ({"key": KEY + 1}, Status.KEY),
    ({"exposure": 9}, Status.EXPOSURE),
    ({"page": 3}, Status.RANGE),
    ({"peer": CONFIG.peers}, Status.INVALID),
)


async def map_page(context, side, number, page, *, key=KEY, peer=1, exposure=2):
    """Page `number` of process 0's part of the aperture is page `page` of the peer's exposure."""
    words = word(MapWord, valid=1, peer=peer, exposure=exposure), word(MapPlaceWord, key=key, page=page)
    await side.write(context, map_at(0, number), *words)


async def store(context, side, number, offset, data):
    words = [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]
    await side.write(context, aperture_at(0, number) + offset, *words)


async def load(context, side, number, offset):
    return await side.read(context, aperture_at(0, number) + offset)


async def barrier(context, side):
    return await side.command(context, Op.NOP, 0, 0, 0, 0)


def test_stores_land_where_the_map_says():
    chance = random.Random(3)

    async def script(context, source, target):
        await map_page(context, source, 3, 1)
        await map_page(context, source, 7, 2)
        expected = bytearray(3 * 4096)
        for _ in range(12):
            page, size = chance.choice([3, 7]), 4 * chance.randrange(1, 20)
            offset = 4 * chance.randrange(100)
            data = chance.randbytes(size)
            await store(context, source, page, offset, data)
            at = {3: 4096, 7: 8192}[page] + offset
            expected[at : at + size] = data
        assert await barrier(context, source) is Status.OK
        assert target.dump(0, len(expected)) == expected

    source, _ = between(script, config=CONFIG)
    assert "REMOTE_FAULTS" not in source.counted()


def test_stores_go_before_a_command_that_begins_after_them():
    async def script(context, source, target):
        await map_page(context, source, 0, 0)
        for number in range(4):  # all buffers are closed at once
            await store(context, source, 0, number * BLOCK, b"late")
        source.load(0, b"last" * BLOCK)
        assert await source.command(context, Op.WRITE, 1, 2, 0, 4 * BLOCK, 5, 0) is Status.OK
        assert target.dump(0, 4 * BLOCK) == b"last" * BLOCK

    between(script, config=CONFIG)


def test_a_request_that_is_offered_stays_until_it_is_taken():
    """One of a command waits for a READ when stores come, and again."""
    changes, waited = [], []

    async def watch(context, source):
        before, offered = None, source.dut.sequencer.i
        while True:
            _, _, valid, ready, payload = await context.tick().sample(offered.valid, offered.ready, offered.payload)
            if before is not None and (not valid or payload != before):
                changes.append((before, payload))
            before = payload if valid and not ready else None
            waited.append(before is not None)

    async def script(context, source, target):
        await map_page(context, source, 0, 0)
        for number in range(3):
            await source.start(context, Op.READ, 1, 2, 512, 64, 5, 0)
            tag = await source.start(context, Op.WRITE, 1, 2, 256, 4, 5, 64, buffer=1)
            await store(context, source, 0, number * BLOCK, b"late" * (BLOCK // 4))
            assert await source.end(context, tag, 1) is Status.OK
        assert await barrier(context, source) is Status.OK

    between(script, config=CONFIG, watch=watch)
    assert any(waited)
    assert not changes


def test_a_whole_block_is_one_packet():
    async def script(context, source, target):
        await map_page(context, source, 0, 0)
        await store(context, source, 0, 0, bytes(range(1, 4 * BLOCK + 1)))
        assert await barrier(context, source) is Status.OK
        assert target.dump(0, 4 * BLOCK) == bytes(range(1, 4 * BLOCK + 1))

    source, _ = between(script, config=CONFIG)
    assert source.counted()["REMOTE_PACKETS"] == 4


def test_the_next_nop_tells_what_refused_a_store_and_the_one_after_it_does_not():
    async def script(context, source, target):
        for mapping, status in REFUSED:
            await map_page(context, source, 0, **{"page": 0, **mapping})
            await store(context, source, 0, 64, b"abcd")
            assert await barrier(context, source) is status
            assert await barrier(context, source) is Status.OK
        await store(context, source, 1, 0, b"abcd")  # a page without a map
        assert await source.command(context, Op.WRITE, 1, 2, 0, 4, 5, 0) is Status.OK  # not its fault
        assert await barrier(context, source) is Status.INVALID
        assert target.dump(64, 4) == bytes(4)

    between(script, config=CONFIG)


def test_a_nop_ends_as_the_first_store_that_was_refused():
    async def script(context, source, target):
        for number, key, page in ((0, KEY + 1, 0), (1, KEY, 3), (2, KEY, 0)):
            await map_page(context, source, number, page, key=key)
            await store(context, source, number, 64, b"abcd")
        assert await barrier(context, source) is Status.KEY
        assert await barrier(context, source) is Status.OK
        assert target.dump(64, 4) == b"abcd"

    between(script, config=CONFIG)


def test_stores_of_a_lossy_wire_land_once_and_in_order():
    chance = random.Random(8)

    def fate(words):
        return [] if chance.random() < 0.1 else [words] * chance.choice([1, 1, 2])

    async def script(context, source, target):
        await map_page(context, source, 0, 0)
        content = bytearray(256)
        for _ in range(60):
            at, data = 4 * chance.randrange(60), chance.randbytes(4 * chance.randrange(1, 4))
            await store(context, source, 0, at, data)
            content[at : at + len(data)] = data
        assert await barrier(context, source) is Status.OK
        assert target.dump(0, 256) == content

    between(script, fate, config=CONFIG, timeout=300, retries=50)


def test_a_load_waits_for_the_peers_word():
    chance = random.Random(4)
    content = chance.randbytes(2 * 4096)

    async def script(context, source, target):
        target.load(0, content)
        await map_page(context, source, 3, 0)
        await map_page(context, source, 6, 1)
        for _ in range(10):
            number, at = chance.choice([(3, 0), (6, 4096)]), 4 * chance.randrange(1024)
            word, waited = await load(context, source, number[0], at)
            assert word == int.from_bytes(content[number[1] + at :][:4], "big")
            assert waited > 20  # two wires and the peer's memory
        assert await barrier(context, source) is Status.OK

    source, _ = between(script, config=CONFIG)
    assert "REMOTE_FAULTS" not in source.counted()
    assert source.counted()["REMOTE_PACKETS"] == 10


def test_a_load_reads_what_was_stored_before_it():
    async def script(context, source, target):
        await map_page(context, source, 0, 0)
        for value in range(1, 5):
            await store(context, source, 0, 8, value.to_bytes(4, "big"))
            await store(context, source, 0, 8 + BLOCK * value, b"more")
            assert (await load(context, source, 0, 8))[0] == value
        assert await barrier(context, source) is Status.OK

    between(script, config=CONFIG)


def test_a_load_that_fails_is_all_ones_and_the_next_nop_tells_why():
    async def script(context, source, target):
        target.load(0, b"abcd" * 1024)
        for mapping, status in REFUSED:
            await map_page(context, source, 0, **{"page": 0, **mapping})
            assert (await load(context, source, 0, 64))[0] == 0xFFFFFFFF
            assert await barrier(context, source) is status
            assert await barrier(context, source) is Status.OK
        assert (await load(context, source, 1, 0))[0] == 0xFFFFFFFF  # a page without a map
        assert await barrier(context, source) is Status.INVALID
        await map_page(context, source, 0, 0)
        assert (await load(context, source, 0, 64))[0] == int.from_bytes(b"abcd", "big")
        assert await barrier(context, source) is Status.OK

    between(script, config=CONFIG)


def test_a_load_from_a_lost_peer_ends():
    async def script(context, source, target):
        await map_page(context, source, 0, 0)
        assert (await load(context, source, 0, 0))[0] == 0xFFFFFFFF
        assert await barrier(context, source) is Status.LOST

    between(script, lambda words: [], config=CONFIG, timeout=100, retries=2)


def test_loads_and_commands_over_a_lossy_wire():
    """Reads of commands are under way while the host loads."""
    chance = random.Random(9)
    content = chance.randbytes(4096)

    def fate(words):
        return [] if chance.random() < 0.1 else [words] * chance.choice([1, 1, 2])

    async def script(context, source, target):
        target.load(0, content)
        await map_page(context, source, 0, 0)
        for _ in range(12):
            at = 16 * chance.randrange(200)
            tag = await source.start(context, Op.READ, 1, 2, at, 96, 5, 0)
            here = 4 * chance.randrange(1024)
            assert (await load(context, source, 0, here))[0] == int.from_bytes(content[here:][:4], "big")
            assert await source.end(context, tag) is Status.OK
            assert source.dump(0, 96) == content[at : at + 96]
        assert await barrier(context, source) is Status.OK

    between(script, fate, config=CONFIG, timeout=300, retries=50)
