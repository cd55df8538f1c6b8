"""What requests the aperture makes of stores."""

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
