"""Deframer: every START gets its END, whatever the wire does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_hdl.bfm import Bench, stream_get, stream_put
from lanai_hdl.link.crc import crc32
from lanai_hdl.link.deframer import Deframer, PartKind
from lanai_hdl.link.flit import Kind
from lanai_hdl.link.format import MOST_BYTES, route_bytes, route_word

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
