"""Deframer: every START gets its END, whatever the wire does."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_hdl.bfm import Bench, stream_get, stream_put
from lanai_hdl.link.crc import crc32
from lanai_hdl.link.deframer import Deframer, PartKind
from lanai_hdl.link.flit import Kind
from lanai_hdl.link.format import MOST_BYTES, route_bytes, route_word
from lanai_hdl.link.packets import PacketDemux, PacketMux

HEAD, DATA, TAIL, CHECK = Kind.HEAD, Kind.DATA, Kind.TAIL, Kind.CHECK
WORDS = [0x11223344, 0x55667788, 0x99AABBCC]
BODY = [(DATA, word) for word in WORDS]
GOOD = (TAIL, crc32(WORDS))
ROUTED = (HEAD, 0x82000000)


def start():
    return (PartKind.START,)


def words(values=WORDS):
    return [(PartKind.WORD, word) for word in values]


def end(*, bad_crc=0, truncated=0):
    return (PartKind.END, bad_crc, truncated)


def spell(part):
    kind = PartKind(part.kind.value)
    if kind is PartKind.WORD:
        return (kind, part.data)
    if kind is PartKind.END:
        return (kind, part.bad_crc, part.truncated)
    return (kind,)


CASES = {
    "sound": ([(HEAD, 0), *BODY, GOOD], [start(), *words(), end()], (0, 0)),
    "empty": ([(HEAD, 0), (TAIL, crc32([]))], [start(), end()], (0, 0)),
    "wrong crc": ([(HEAD, 0), *BODY, (TAIL, 1)], [start(), *words(), end(bad_crc=1)], (0, 0)),
    "check": (
        [(HEAD, 0), BODY[0], (CHECK, crc32(WORDS[:1])), *BODY[1:], GOOD],
        [start(), *words(WORDS[:1]), (PartKind.CHECKED,), *words(WORDS[1:]), end()],
        (0, 0),
    ),
    "wrong check": (
        [(HEAD, 0), BODY[0], (CHECK, 7), *BODY[1:], GOOD],
        [start(), *words(), end(bad_crc=1)],
        (0, 0),
    ),
    "no tail": (
        [(HEAD, 0), BODY[0], (HEAD, 0), *BODY, GOOD],
        [start(), *words(WORDS[:1]), end(truncated=1), start(), *words(), end()],
        (0, 0),
    ),
    "misrouted": ([ROUTED, *BODY, GOOD, (HEAD, 0), *BODY, GOOD], [start(), *words(), end()], (1, 0)),
    "misrouted without tail": ([ROUTED, *BODY, (HEAD, 0), *BODY, GOOD], [start(), *words(), end()], (1, 0)),
    "strays": ([*BODY, GOOD, (CHECK, 0), (HEAD, 0), *BODY, GOOD], [start(), *words(), end()], (0, 5)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("idle", "pause"), [(0, 0), (0.4, 0.4)])
def test_packets(name, idle, pause):
    flits, parts, counts = CASES[name]
    dut = Deframer()
    bench = Bench(dut, 1000)
    events = [0, 0]

    async def put(context):
        context.set(dut.up, 1)
        await stream_put(context, dut.i, [{"kind": kind, "data": data} for kind, data in flits], idle=idle, seed=1)

    async def get(context):
        got = await stream_get(context, dut.o, len(parts), pause=pause, seed=2)
        assert [spell(part) for part in got] == parts
        await context.tick().repeat(3)
        assert context.get(dut.idle)
        assert not context.get(dut.o.valid)

    async def watch(context):
        async for *_, misrouted, stray in context.tick().sample(dut.misrouted, dut.stray):
            events[0] += misrouted
            events[1] += stray

    bench.add_background(watch)
    bench.add(put)
    bench.add(get)
    bench.run()
    assert tuple(events) == counts


@pytest.mark.parametrize("head", [(HEAD, 0), ROUTED])
def test_a_dead_link_ends_the_packet(head):
    dut = Deframer()
    bench = Bench(dut, 200)

    async def put(context):
        context.set(dut.up, 1)
        context.set(dut.o.ready, 1)
        await stream_put(context, dut.i, [{"kind": kind, "data": data} for kind, data in (head, BODY[0])])
        context.set(dut.up, 0)
        _, _, valid, part = await context.tick().sample(dut.o.valid, dut.o.payload)
        if head == ROUTED:
            assert not valid
        else:
            assert valid
            assert spell(part) == end(truncated=1)
        assert context.get(dut.idle)

    bench.add(put)
    bench.run()


# Route words: what the switches read back is what was asked for.


def read(word):
    """The ports that switches would use, one after the other, until no byte is left."""
    ports = []
    while word >> 31:
        count, port = word >> 28 & 7, word >> 24 & 15
        word = word - (1 << 28) if count else word << 8 & 0xFFFFFFFF
        ports.append(port)
    assert word == 0
    return ports


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 20)), max_size=4))
def test_switches_read_what_was_asked_for(runs):
    ports = [port for port, times in runs for _ in range(times)]
    if len(route_bytes(ports)) > MOST_BYTES:
        with pytest.raises(ValueError, match=r"a HEAD holds 4"):
            route_word(ports)
    else:
        assert read(route_word(ports)) == ports


@pytest.mark.parametrize(
    ("ports", "word"),
    [
        ([], 0),
        ([3], 0x83000000),
        ([2, 2, 2, 2], 0x82828282),
        ([2, 2, 2, 2, 0], 0xB2800000),
        ([1] * 9, 0xF1810000),
        ([1, 1, 3, 3, 5, 5, 0], 0x91939580),
    ],
)
def test_a_count_is_used_only_where_a_byte_a_switch_would_not_fit(ports, word):
    assert route_word(ports) == word


# Packets of several senders share a link unmixed; each packet reaches the receiver that its first byte names.


def packet(sender, number, words):
    body = [{"kind": Kind.DATA, "data": sender << 24 | number << 8 | n} for n in range(words)]
    return [{"kind": Kind.HEAD, "data": sender}, *body, {"kind": Kind.TAIL, "data": 0}]


@pytest.mark.parametrize("idle", [0.0, 0.5])
@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_packets_are_not_mixed_and_none_is_lost(inputs, idle):
    dut = PacketMux(inputs)
    bench = Bench(dut, 3000)
    sent = [[packet(i, number, random.Random(number).randrange(4)) for number in range(8)] for i in range(inputs)]
    total = sum(len(flits) for packets in sent for flits in packets)
    got = []

    for i, port in enumerate(dut.ports()):

        async def put(context, i=i, port=port):
            await stream_put(context, port, [flit for flits in sent[i] for flit in flits], idle=idle, seed=i)

        bench.add(put)

    async def get(context):
        for flit in await stream_get(context, dut.o, total, pause=0.3, seed=9):
            got.append({"kind": Kind(flit.kind.value), "data": flit.data})
        await context.tick().repeat(3)
        assert context.get(dut.idle)

    bench.add(get)
    bench.run()
    arrived = [[] for _ in range(inputs)]
    while got:
        size = 1 + next(n for n, flit in enumerate(got) if flit["kind"] is Kind.TAIL)
        arrived[got[0]["data"]].append(got[:size])
        del got[:size]
    assert arrived == sent


def test_inputs_that_always_send_are_served_in_turn():
    dut = PacketMux(3)
    bench, heads = Bench(dut, 300), []

    async def watch(context):
        context.set(dut.o.ready, 1)
        async for *_, valid, flit in context.tick().sample(dut.o.valid, dut.o.payload):
            if valid and Kind(flit.kind.value) is Kind.HEAD:
                heads.append(flit.data)

    for i, port in enumerate(dut.ports()):

        async def put(context, i=i, port=port):
            await stream_put(context, port, packet(i, 0, 1) * 4)

        bench.add(put)
    bench.add_background(watch)
    bench.run()
    assert heads[:9] == [1, 2, 0] * 3


START, END = {"kind": PartKind.START}, {"kind": PartKind.END, "bad_crc": 1}


def word(value):
    return {"kind": PartKind.WORD, "data": value}


def test_packets_that_no_nic_takes_are_dropped_whole():
    """While `drop` is high when their first word is offered; those of other outputs pass."""
    dut = PacketDemux([(0x80,)])
    bench = Bench(dut, 2_000)
    packets = [[START, word(byte << 24), word(0x80000000), END] for byte in (1, 0x80, 2, 0x80)]
    packets += [[START, END]]  # no word: to output 0

    async def put(context):
        context.set(dut.drop, 1)
        await stream_put(context, dut.i, packets[0] + packets[1] + packets[2][:1])
        context.set(dut.drop, 0)
        await stream_put(context, dut.i, packets[2][1:] + packets[3])
        context.set(dut.drop, 1)
        await stream_put(context, dut.i, packets[4] + packets[1])

    got = [[], []]

    def takes(output, count):
        async def take(context):
            got[output] = await stream_get(context, dut.ports()[output], count)

        return take

    bench.add(put)
    for output, count in enumerate((4, 12)):
        bench.add(takes(output, count))
    bench.run()
    assert [[part.kind for part in parts] for parts in got] == [
        [PartKind.START, PartKind.WORD, PartKind.WORD, PartKind.END],
        3 * [PartKind.START, PartKind.WORD, PartKind.WORD, PartKind.END],
    ]
    assert got[0][1].data == 2 << 24


@pytest.mark.parametrize("pause", [0.0, 0.6])
def test_the_first_byte_chooses_the_receiver(pause):
    """Every first byte once, packets of two words; the second word's first byte is another's and
    decides nothing."""
    routes = [(0x80, 0x81), (0xFF,)]
    dut = PacketDemux(routes)
    bench = Bench(dut, 12_000)
    expected = [[], [], []]
    sent = [START, END]  # without a word: to output 0
    expected[0] += [START, END]
    for byte in range(256):
        parts = [START, word(byte << 24), {"kind": PartKind.CHECKED}, word(0x80FF0000), END]
        sent += parts
        expected[next((n for n, route in enumerate(routes, 1) if byte in route), 0)] += parts

    async def put(context):
        await stream_put(context, dut.i, sent)

    def spell(part):
        kind = part["kind"]
        return kind, part.get("data") if kind is PartKind.WORD else part.get(
            "bad_crc"
        ) if kind is PartKind.END else None

    def seen(part):
        kind = PartKind(part.kind.value)
        return kind, part.data if kind is PartKind.WORD else part.bad_crc if kind is PartKind.END else None

    for n, port in enumerate(dut.ports()):

        async def get(context, n=n, port=port):
            got = await stream_get(context, port, len(expected[n]), pause=pause, seed=n)
            assert list(map(seen, got)) == list(map(spell, expected[n])), n

        bench.add(get)
    bench.add(put)
    bench.run()


def test_routes_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match="first byte 0x80 is taken by output 1 and by output 2"):
        PacketDemux([(0x80,), (0x80,)])
    with pytest.raises(ValueError, match="first byte 256 of output 1 must be from 0 to 255"):
        PacketDemux([(256,)])
    with pytest.raises(ValueError, match="inputs=0 must be at least 1"):
        PacketMux(0)
