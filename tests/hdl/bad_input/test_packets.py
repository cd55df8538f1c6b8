"""Packets that no sender would send: truncated, wrong CRC of header or body, lost and doubled
words, flits without a packet."""

import pytest
from amaranth import Value

from lanai_hdl.bfm import Bench
from lanai_hdl.bfm.chip import Side
from lanai_hdl.link.crc import crc32
from lanai_hdl.link.flit import Kind
from lanai_hdl.machine import Event, Status, Verdict
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig
from lanai_hdl.systems import SwitchedNics

from .bench import CONFIG, PATTERN, WHOLE, Told, survive, survive_on_a_loop

BUFFER, ROOM, NEXT = 0x400, 64, 0x800
WORDS = [0x01234567 * n & 0xFFFFFFFF for n in range(1, 9)]
HEAD, TAIL = (Kind.HEAD, 0), (Kind.TAIL, crc32(WORDS))
BODY = [(Kind.DATA, word) for word in WORDS]
CHECK = (Kind.CHECK, crc32(WORDS[:2]))
BAD = (Kind.CHECK, ~crc32(WORDS[:2]) & 0xFFFFFFFF)
ROUTED = (Kind.HEAD, 0x85000000)
V = Verdict


def as_bytes(words):
    return b"".join(word.to_bytes(4, "big") for word in words)


def packet(name, flits, verdict, words, counts, events=Event.LINK_ERROR, room=ROOM):
    """A fault: the flits, then a sound packet. `words` are what stands in the buffer; without a
    `verdict` the packet never gets one."""

    async def fault(nic):
        if verdict is not None:
            await nic.firmware.post(BUFFER, BUFFER + room)
        await nic.firmware.post(NEXT, NEXT + ROOM)
        await nic.source.flits(flits)
        await nic.source.send(WORDS)
        if verdict is not None:
            assert await nic.take() == (verdict, 4 * len(words)), name
        assert await nic.take() == (V.VALID, 4 * len(WORDS)), name
        return Told(counts, events, {BUFFER: as_bytes(words), NEXT: as_bytes(WORDS)})

    fault.__name__ = name
    return fault


CRC, CUT, OVER = {"RX_CRC_ERRORS": 1}, {"RX_TRUNCATED": 1}, {"RX_OVERRUNS": 1}
WRONG_CRC = [
    packet("crc of the body", [HEAD, *BODY, (Kind.TAIL, 5)], V.VALID | V.CRC, WORDS, CRC),
    packet("crc of nothing", [HEAD, (Kind.TAIL, 5)], V.VALID | V.CRC, [], CRC),
    packet("crc of the header", [HEAD, *BODY[:2], BAD, *BODY[2:], TAIL], V.VALID | V.CRC, WORDS, CRC),
    packet("crc of both", [HEAD, *BODY[:2], BAD, *BODY[2:], (Kind.TAIL, 5)], V.VALID | V.CRC, WORDS, CRC),
    packet(
        "sound header, crc of the body",
        [HEAD, *BODY[:2], CHECK, *BODY[2:], (Kind.TAIL, 5)],
        V.VALID | V.CRC | V.CHECKED,
        WORDS,
        CRC,
    ),
    packet("lost word", [HEAD, *BODY[1:], TAIL], V.VALID | V.CRC, WORDS[1:], CRC),
    packet("doubled word", [HEAD, BODY[0], *BODY, TAIL], V.VALID | V.CRC, [WORDS[0], *WORDS], CRC),
]
TRUNCATED = [
    packet("no tail", [HEAD, *BODY[:3]], V.VALID | V.TRUNCATED, WORDS[:3], CUT),
    packet("head alone", [HEAD], V.VALID | V.TRUNCATED, [], CUT),
    packet("checked, no tail", [HEAD, *BODY[:2], CHECK], V.VALID | V.TRUNCATED | V.CHECKED, WORDS[:2], CUT),
    packet("bad check, no tail", [HEAD, *BODY[:2], BAD], V.VALID | V.TRUNCATED | V.CRC, WORDS[:2], {**CUT, **CRC}),
    packet("misrouted, no tail", [ROUTED, *BODY], None, [], {"RX_MISROUTED": 1}),
]
STRAY = [
    packet("no head", [*BODY, TAIL], None, [], {"RX_STRAYS": 9}),
    packet("tail alone", [TAIL], None, [], {"RX_STRAYS": 1}),
    packet("check alone", [CHECK], None, [], {"RX_STRAYS": 1}),
    packet("misrouted", [ROUTED, *BODY, TAIL], None, [], {"RX_MISROUTED": 1}),
]
LENGTHS = [
    packet("length 0", [HEAD, (Kind.TAIL, crc32([]))], V.VALID, [], {}, Event(0)),
    packet("a word too long", [HEAD, *BODY, TAIL], V.VALID | V.OVERRUN, WORDS[:7], OVER, Event.RECV_OVERRUN, room=28),
    packet("no room at all", [HEAD, *BODY, TAIL], V.VALID | V.OVERRUN, [], OVER, Event.RECV_OVERRUN, room=0),
    packet(
        "far too long, and wrong",
        [HEAD, *BODY * 30, TAIL],
        V.VALID | V.OVERRUN | V.CRC,
        WORDS * 2,
        {**OVER, **CRC},
        Event.RECV_OVERRUN | Event.LINK_ERROR,
    ),
    packet(
        "too long, and cut",
        [HEAD, *BODY * 3],
        V.VALID | V.OVERRUN | V.TRUNCATED,
        WORDS * 2,
        {**OVER, **CUT},
        Event.RECV_OVERRUN | Event.LINK_ERROR,
    ),
]


def test_wrong_crc_of_header_and_body():
    survive(*WRONG_CRC)


def test_truncated_packets_and_flits_without_one():
    survive(*TRUNCATED, *STRAY)


def test_lengths_of_0_and_beyond_the_buffer():
    survive(*LENGTHS)


async def dies_amid_a_packet(nic):
    """The carrier goes; the packet ends at once, without waiting for the next."""
    await nic.firmware.post(BUFFER, BUFFER + ROOM)
    await nic.source.flits([HEAD, *BODY[:5]])
    await nic.source.down(20)
    assert await nic.take() == (V.VALID | V.TRUNCATED, 20)
    assert await nic.firmware.load("RECV_STATUS") & Status.LINK_UP
    return Told({"RX_TRUNCATED": 1, "LINK_DOWNS": 1}, Event.LINK_ERROR, {BUFFER: as_bytes(WORDS[:5])})


async def dies_amid_a_misrouted_packet(nic):
    await nic.source.flits([ROUTED, *BODY[:5]])
    await nic.source.down(20)
    return Told({"RX_MISROUTED": 1, "LINK_DOWNS": 1}, Event.LINK_ERROR)


async def dies_while_sending(nic):
    """Send into a dead cable: the packet is dropped and counted, and nothing waits for it."""
    nic.source.pins.set(kind=Kind.DOWN)
    await nic.slots(4)
    done = await nic.firmware.load("SEND_DONE") + 1
    await nic.firmware.send(0, 0, 16, 3)
    await nic.firmware.until("SEND_DONE", done)
    while await nic.firmware.load("SEND_STATUS") & Status.BUSY:
        pass
    nic.source.pins.set(kind=Kind.IDLE)
    await nic.slots(4)
    return Told({"TX_DROPPED": 6, "LINK_DOWNS": 1}, Event.LINK_ERROR | Event.SEND_DONE)


async def unknown_kinds(nic):
    """Codes that are not a kind of flit: one ends a packet that it stands in, none begins one."""
    await nic.firmware.post(BUFFER, BUFFER + ROOM)
    for kind, data in [(5, 1), (6, 2), *[HEAD, *BODY[:2]], (5, 3), (6, 4), TAIL]:
        nic.context.set(Value.cast(nic.side.nic.link_rx.kind), getattr(kind, "value", kind))
        nic.source.pins.set(data=data)
        await nic.source.pins.step()
    nic.source.pins.set(kind=Kind.IDLE)
    assert await nic.take() == (V.VALID | V.TRUNCATED, 8)
    return Told({"RX_STRAYS": 5, "RX_TRUNCATED": 1}, Event.LINK_ERROR, {BUFFER: as_bytes(WORDS[:2])})


def test_a_link_that_dies_and_one_that_talks_nonsense():
    survive(dies_amid_a_packet, dies_amid_a_misrouted_packet, dies_while_sending, unknown_kinds)


# Routes to where no NIC is: what a NIC alone makes of them, and what a switch does.


PORTS = 3  # of the switch; at the last one is no NIC


def over_a_cable(route):
    """There is no switch to take the route byte: the NIC at the other end drops the packet."""

    async def fault(nic):
        done = await nic.firmware.load("RX_FLITS") + 4
        await nic.firmware.send(route, 0, 8, WHOLE)
        await nic.firmware.until("RX_FLITS", done)
        return Told({"RX_MISROUTED": 1}, Event.LINK_ERROR | Event.SEND_DONE)

    fault.__name__ = f"route {route:#x}"
    return fault


def test_a_nic_drops_what_is_routed_on():
    survive_on_a_loop(*(over_a_cable(route) for route in (0x80000000, 0x85000000, 0xFFFFFFFF, 0x81828384)))


WAYS = {
    "absent port": (0x83000000, {"bad_routes": 1}, {}),
    "port that no switch has": (0xFF000000, {"bad_routes": 1}, {}),
    "no route": (0x00000000, {"bad_routes": 1}, {}),
    "not marked as a hop": (0x01000000, {"bad_routes": 1}, {}),
    "port without a cable": (0x82000000, {"strays": 4}, {}),
    "a hop too many": (0x81810000, {}, {"RX_MISROUTED": 1}),
}


@pytest.mark.ci
def test_through_a_switch_only_what_is_routed_well_arrives():
    """Each bad packet is counted where it ends; the sound one behind it arrives, and all of the
    receiver's SRAM but its buffer stays."""
    sides = [Side(CONFIG) for _ in range(PORTS - 1)]
    switch = Switch(SwitchConfig(ports=PORTS, nic=CONFIG))
    top = SwitchedNics([side.nic for side in sides], switch, CONFIG.link_latency)
    bench = Bench(top, 20_000)
    finished = []

    async def sender(context, world):
        for count, (route, *_) in enumerate(WAYS.values(), 1):
            await world.firmware.send(route, 0, 8, WHOLE)
            await world.firmware.send(0x81000000, 4 * count, 4, WHOLE)
            await world.firmware.until("SEND_DONE", 2 * count)
            while len(finished) < count:
                await context.tick()

    async def receiver(context, world):
        sides[1].poke(context, 0, PATTERN)
        sram, nic_counts = bytearray(PATTERN), {}
        switch_counts = dict.fromkeys(("bad_routes", "blocked", "strays"), 0)
        sides[0].poke(context, 0, bytes(range(64)))
        for count, (name, (_, in_switch, in_nic)) in enumerate(WAYS.items(), 1):
            await world.firmware.post(BUFFER, BUFFER + 64)
            await world.firmware.until("RECV_DONE", count)
            assert await world.firmware.load("RECV_VERDICT") == Verdict.VALID, name
            await world.firmware.store("RECV_VERDICT", 0)
            sram[BUFFER : BUFFER + 4] = bytes(range(4 * count, 4 * count + 4))
            assert sides[1].peek(context, 0, len(PATTERN)) == sram, name
            for counts, more in ((switch_counts, in_switch), (nic_counts, in_nic)):
                for key, value in more.items():
                    counts[key] = counts.get(key, 0) + value
            assert {key: context.get(getattr(switch, key)) for key in switch_counts} == switch_counts, name
            for counter in ("RX_MISROUTED", "RX_STRAYS", "RX_CRC_ERRORS", "RX_TRUNCATED"):
                assert await world.firmware.load(counter) == nic_counts.get(counter, 0), name
            finished.append(name)
        await context.tick().repeat(40)
        assert context.get(top.idle[1])

    for n, (side, script) in enumerate(zip(sides, (sender, receiver), strict=True)):
        side.attach(bench, top.pio[n], top.mem[n], script, None)
    bench.run()
