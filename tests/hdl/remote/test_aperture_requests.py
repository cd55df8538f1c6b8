"""The requests that the aperture makes of stores."""

from amaranth import Module, ResetInserter, Signal

from lanai_hdl.bfm import Bench
from lanai_hdl.remote.aperture import Aperture
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Op, Status, word
from lanai_hdl.remote.tables import APERTURE_PAGES, MapPlaceWord, MapWord

CONFIG = Remote(payload=64, streams=2, stream_bytes=32, stream_slots=8)
PAGE_WORDS = 1024


async def give(context, port, kind, place, word, field=0):
    """A write of the host; gives the slots that it waited."""
    context.set(port.place, place)
    context.set(port.word, word)
    context.set(port.field, field)
    context.set(getattr(port, kind), 1)
    waited = 0
    while not (await context.tick().sample(port.taken))[2]:
        waited += 1
    context.set(getattr(port, kind), 0)
    return waited


async def until_ready(context, dut):
    """Until no map is left from before the reset."""
    while not (await context.tick().sample(dut.ready_next))[2]:
        pass


async def give_map(context, port, number, **fields):
    place = word(MapPlaceWord, key=fields.pop("key"), page=fields.pop("page"))
    waited = await give(context, port, "map", number * PAGE_WORDS, word(MapWord, valid=1, **fields))
    return waited + await give(context, port, "map", number * PAGE_WORDS, place, 1)


def test_a_closed_buffer_becomes_a_write_to_where_its_page_lies():
    dut, requests = Aperture(CONFIG), []

    async def take(context):
        while True:
            context.set(dut.o.ready, 1)
            _, _, valid, new = await context.tick().sample(dut.o.valid, dut.o.payload)
            if valid:
                requests.append(new)
                context.set(dut.freed, new.entry.offset >> 5)
                context.set(dut.free, 1)
                context.set(dut.o.ready, 0)
                await context.tick()
                context.set(dut.free, 0)

    async def host(context):
        port, page = dut.host, 3 * APERTURE_PAGES + 5  # of process 3
        await until_ready(context, dut)
        assert await give_map(context, port, page, peer=2, exposure=9, key=0x77, page=6) == 0
        for at in (8, 9, 10):
            await give(context, port, "store", page * PAGE_WORDS + at, at)
        # The map may be another's only after the stores before it are requests.
        assert await give_map(context, port, page, peer=CONFIG.peers, exposure=9, key=0x78, page=6) > 2
        assert len(requests) == 1
        await give(context, port, "store", page * PAGE_WORDS, 1)
        context.set(port.begins, 1)
        await context.tick()
        context.set(port.begins, 0)
        assert context.get(dut.pending)
        await give(context, port, "store", (page + 1) * PAGE_WORDS + 16, 1)  # never mapped
        while not context.get(dut.idle):
            await context.tick()

    bench = Bench(dut, 500)
    bench.add_background(take)
    bench.add(host)
    bench.run()
    good, *bad = requests
    entry = good.entry
    assert (good.ended, entry.stored, entry.op, entry.buffer >> 3) == (0, 1, Op.WRITE, 3)
    assert (entry.peer, entry.exposure, entry.key) == (2, 9, 0x77)
    assert (entry.offset, entry.length, entry.last) == (6 * 4096 + 32, 12, 0)
    assert [(one.ended, one.status) for one in bad] == [(1, Status.INVALID)] * 2


def test_reset_makes_all_maps_invalid():
    dut, reset, top = Aperture(CONFIG), Signal(), Module()
    top.submodules.dut = ResetInserter(reset)(dut)
    pages = (0, 5, 63)

    async def store(context, page):
        """Store through a page; gives whether the request is sent."""
        await give(context, dut.host, "store", page * PAGE_WORDS, 1)
        (new,) = await context.tick().sample(dut.o.payload).until(dut.o.valid)
        context.set(dut.o.ready, 1)
        await context.tick()
        context.set(dut.o.ready, 0)
        context.set(dut.freed, 0)
        context.set(dut.free, 1)
        await context.tick()
        context.set(dut.free, 0)
        return not new.ended

    async def host(context):
        for _ in range(2):
            context.set(dut.host.word, word(MapWord, valid=1, peer=2))  # not taken
            context.set(reset, 1)
            await context.tick()
            context.set(reset, 0)
            await until_ready(context, dut)
            assert not any([await store(context, page) for page in pages])
            for page in pages:
                await give_map(context, dut.host, page, peer=2, exposure=9, key=0x77, page=6)
            assert all([await store(context, page) for page in pages])

    bench = Bench(top, 1000)
    bench.add(host)
    bench.run()
