"""Link: rate, CRC, STOP/GO, dead cables."""

import random

import pytest
from amaranth import Module
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench, LinkSink, LinkSource, PysimPins, stream_get, stream_put
from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.link.cable import Cable
from lanai_hdl.link.crc import WordCrc, crc32
from lanai_hdl.link.flit import Kind
from lanai_hdl.link.limiter import RateLimiter
from lanai_hdl.link.receiver import LinkReceiver
from lanai_hdl.link.transmitter import LinkTransmitter


def flit(kind, data=0):
    return {"kind": kind, "data": data}


def packet_flits(words, route=0x80000000, spoil=0):
    return [flit(Kind.HEAD, route), *(flit(Kind.DATA, word) for word in words), flit(Kind.TAIL, spoil)]


def some_words(count, seed=1):
    chance = random.Random(seed)
    return [chance.getrandbits(32) for _ in range(count)]


def test_gateware_and_python_agree_on_the_crc():
    dut = WordCrc()
    bench = Bench(dut, 300)

    async def feed(context):
        for count in (0, 1, 2, 5, 40):
            words = some_words(count, count)
            context.set(dut.start, 1)
            await context.tick()
            context.set(dut.start, 0)
            for word in words:
                context.set(dut.valid, 1)
                context.set(dut.data, word)
                await context.tick()
            context.set(dut.valid, 0)
            assert context.get(dut.crc) == crc32(words)

    bench.add(feed)
    bench.run()


@pytest.mark.parametrize(
    ("slot_khz", "kbytes", "slots", "flits"),
    [
        (66_000, 160_000, 3300, 2000),  # the testbed: 20 flits every 33 slots
        (50_000, 160_000, 1000, 800),
        (40_000, 160_000, 500, 500),  # the fastest possible: a flit a slot
        (66_000, 1_000, 26_400, 100),
    ],
)
def test_the_rate_holds_at_any_clock(slot_khz, kbytes, slots, flits):
    dut = RateLimiter(NicConfig(slot_khz=slot_khz, link_kbytes=kbytes, host_bus_khz=33_000))
    bench = Bench(dut, slots + 10)

    async def take_all(context):
        taken = 0
        for _ in range(slots):
            ready = context.get(dut.ready)
            context.set(dut.take, ready)
            taken += ready
            await context.tick()
        assert abs(taken - flits) <= 1  # one more if the bucket was full at first

    bench.add(take_all)
    bench.run()


def test_the_transmitter_keeps_160_mb_per_second(expected):
    config = lanai41()
    dut = LinkTransmitter(config)
    bench = Bench(dut, 5000)
    words = some_words(1998)
    slots = []

    async def put(context):
        await stream_put(context, dut.i, packet_flits(words))

    async def watch(context):
        sink = LinkSink(PysimPins(context, dut.link))
        context.set(dut.up, 1)
        bench_slots = sink.flits
        slots.append(bench_slots)
        await sink.serve()

    bench.add_background(watch)
    bench.add(put)
    bench.run()
    (flits,) = slots
    first, last = flits[0][0], flits[-1][0]
    rate = round((len(flits) - 1) * 4 * config.slot_khz / (last - first) / 1000, 1)
    assert rate == 160.0
    expected("nic.link.mb_per_second", rate)


@pytest.mark.parametrize(("idle", "stops"), [(0, 0), (0.3, 0), (0, 0.1), (0.3, 0.2)])
def test_packets_cross_a_cable_whole(idle, stops):
    """Transmitter, cable, receiver: every flit in order under any STOP, and the FIFO never
    overflows."""
    config = NicConfig(slot_khz=40_000, link_kbytes=160_000, host_bus_khz=33_000)  # a flit a slot: the worst case
    tx, rx, cable = LinkTransmitter(config), LinkReceiver(config), Cable(config.link_latency)
    top = Module()
    top.submodules.tx, top.submodules.rx, top.submodules.cable = tx, rx, cable
    wiring.connect(top, tx.link, cable.i)
    wiring.connect(top, cable.o, rx.link)
    top.d.comb += tx.up.eq(rx.up)
    bench = Bench(top, 20_000)
    packets = [some_words(n, n) for n in (0, 1, 70, 200)]

    async def put(context):
        for words in packets:
            await stream_put(context, tx.i, packet_flits(words), idle=idle, seed=3)

    async def get(context):
        for words in packets:
            got = await stream_get(context, rx.o, len(words) + 2, pause=stops * 4, seed=4)
            assert [Kind(value.kind.value) for value in got] == [Kind.HEAD, *[Kind.DATA] * len(words), Kind.TAIL]
            assert [value.data for value in got[1:]] == [*words, crc32(words)]
        assert not context.get(rx.o.valid)

    async def watch(context):
        async for *_, overflow in context.tick().sample(rx.overflow):
            assert not overflow

    bench.add_background(watch)
    bench.add(put)
    bench.add(get)
    bench.run()


@pytest.mark.parametrize("latency", [1, 8, 20])
def test_stop_leaves_room_for_what_is_in_flight(latency):
    """Nothing reads: a sender at full speed fills the FIFO and stops before it overflows, however
    long the cable."""
    config = NicConfig(slot_khz=40_000, link_kbytes=160_000, host_bus_khz=33_000, link_latency=latency)
    tx, rx, cable = LinkTransmitter(config), LinkReceiver(config), Cable(latency)
    top = Module()
    top.submodules.tx, top.submodules.rx, top.submodules.cable = tx, rx, cable
    wiring.connect(top, tx.link, cable.i)
    wiring.connect(top, cable.o, rx.link)
    bench = Bench(top, 2000)

    async def flood(context):
        context.set(tx.up, 1)
        context.set(tx.i.payload, flit(Kind.DATA, 5))
        context.set(tx.i.valid, 1)
        for _ in range(300):
            _, _, overflow = await context.tick().sample(rx.overflow)
            assert not overflow
        assert context.get(rx.link.stop)
        assert context.get(tx.stopped)

    bench.add(flood)
    bench.run()


def test_a_sender_that_ignores_stop_loses_flits_and_is_counted():
    config = NicConfig(rx_fifo=32)
    dut = LinkReceiver(config)
    bench = Bench(dut, 500)

    async def flood(context):
        source = LinkSource(PysimPins(context, dut.link), late=1000)
        await source.flits([(Kind.DATA, n) for n in range(40)])

    lost = []

    async def watch(context):
        async for *_, overflow in context.tick().sample(dut.overflow):
            lost.append(overflow)

    bench.add_background(watch)
    bench.add(flood)
    bench.run()
    assert sum(lost) >= 40 - 32 - 1


def test_a_dead_link_swallows_packets_to_their_end():
    """Two packets; the cable is dead for the middle of the first. What arrives: its start, then the
    second, whole."""
    config = NicConfig(slot_khz=40_000, link_kbytes=160_000, host_bus_khz=33_000)
    dut = LinkTransmitter(config)
    bench = Bench(dut, 500)
    seen = []

    async def put(context):
        context.set(dut.up, 1)
        await stream_put(context, dut.i, packet_flits([1, 2])[:2])
        context.set(dut.up, 0)
        await stream_put(context, dut.i, packet_flits([1, 2])[2:3])
        context.set(dut.up, 1)
        await stream_put(context, dut.i, packet_flits([1, 2])[3:])
        await stream_put(context, dut.i, packet_flits([3]))
        await context.tick().repeat(4)

    async def watch(context):
        async for *_, kind, data in context.tick().sample(dut.link.kind, dut.link.data):
            if Kind(kind) is not Kind.IDLE:
                seen.append((Kind(kind), data))

    bench.add_background(watch)
    bench.add(put)
    bench.run()
    head = (Kind.HEAD, 0x80000000)
    assert seen == [head, (Kind.DATA, 1), head, (Kind.DATA, 3), (Kind.TAIL, crc32([3]))]


def test_a_cable_has_length():
    with pytest.raises(ValueError, match="0 slots"):
        Cable(0)
