"""A packet that a NIC's reset has cut ends on the wire, spoilt. All others pass as they are."""

import random

import pytest
from amaranth import Cat, Module, ResetInserter, Signal
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.bfm import Bench, LinkSink, PysimPins
from lanai_hdl.config import NicConfig
from lanai_hdl.link.crc import crc32
from lanai_hdl.link.flit import Flit, Kind, LinkPort
from lanai_hdl.link.packet_end import PacketEnd
from lanai_hdl.link.transmitter import LinkTransmitter

FASTEST = NicConfig(slot_khz=40_000, link_kbytes=160_000)  # a flit a slot
ROUTE = 0x82000000


class EndedPackets(wiring.Component):
    """A PacketEnd and a transmitter, as in a NIC: the reset is the transmitter's alone."""

    i: In(stream.Signature(Flit))
    link: Out(LinkPort())
    resets: In(1)
    up: In(1, init=1)

    def elaborate(self, platform):
        m = Module()
        transmitter = LinkTransmitter(FASTEST)
        m.submodules.end = end = PacketEnd()
        m.submodules.transmitter = ResetInserter(self.resets)(transmitter)
        wiring.connect(m, wiring.flipped(self.i), end.i)
        wiring.connect(m, end.o, transmitter.i)
        wiring.connect(m, transmitter.link, wiring.flipped(self.link))
        m.d.comb += [transmitter.up.eq(self.up), end.up.eq(self.up)]
        m.d.comb += [end.reset.eq(self.resets), end.kind.eq(transmitter.link.kind)]
        return m


async def give(context, dut, words, *, until=lambda taken: False):
    """Offer a packet's flits, as long as the NIC is not reset: `until`, asked in each slot with how many flits have
    been taken, resets it. Return whether all were taken."""
    body = [{"kind": Kind.DATA, "data": word} for word in words]
    for at, flit in enumerate([{"kind": Kind.HEAD, "data": ROUTE}, *body, {"kind": Kind.TAIL, "data": 0}]):
        context.set(dut.i.payload, flit)
        context.set(dut.i.valid, 1)
        taken = False
        while not taken:
            reset = until(at)
            context.set(dut.resets, reset)
            *_, taken = await context.tick().sample(dut.i.ready)
            if reset:
                context.set(dut.i.valid, 0)
                return False
    context.set(dut.i.valid, 0)
    return True


async def end_reset(context, dut, slots):
    for _ in range(slots - 1):
        await context.tick()
    context.set(dut.resets, 0)


def run(script, *, stops=0.0, slots=1000):
    """Run the script with the component; return what came out of the link."""
    dut = EndedPackets()
    bench, sinks = Bench(dut, slots), []

    async def sink(context):
        sinks.append(LinkSink(PysimPins(context, dut.link), stops=stops, seed=1))
        await sinks[0].serve()

    async def drain(context):
        await script(context, dut, lambda held: setattr(sinks[0], "held", held))
        sinks[0].stops = sinks[0].stops and 1.0  # in every other slot, so that all that waits leaves
        while sinks[0].slot - sinks[0].flits[-1][0] < 20:
            await context.tick()

    bench.add_background(sink)
    bench.add(drain)
    bench.run()
    return sinks[0]


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("length", [1, 32])
@pytest.mark.parametrize("after", range(8))
def test_a_packet_cut_behind_each_of_its_flits_ends_before_the_next(after, length, held):
    """Its reset may be as short as one slot, and STOP may stand when it ends. Slot 7 is behind its TAIL."""

    async def script(context, dut, hold):
        await give(context, dut, [1, 2, 3, 4, 5], until=lambda taken: taken == after)
        if after == 7:
            context.set(dut.resets, 1)
            await context.tick()
        hold(held)
        await end_reset(context, dut, length)
        await context.tick().repeat(6)
        hold(False)
        assert await give(context, dut, [7, 8])

    out = run(script)
    flits = [(kind, data) for _, kind, data in out.flits]
    whole = [(Kind.HEAD, ROUTE), *((Kind.DATA, word) for word in range(1, 6)), (Kind.TAIL, crc32(range(1, 6)))]
    assert flits[:after] == whole[:after]
    assert [kind for kind, _ in flits[after:]] == ([Kind.TAIL] if 0 < after < 7 else []) + [
        Kind.HEAD, Kind.DATA, Kind.DATA, Kind.TAIL,
    ]  # fmt: skip
    assert [packet.sound for packet in out.packets] == [True] * (after == 7) + [False] * (0 < after < 7) + [True]
    assert out.packets[-1].words == [7, 8]


@pytest.mark.parametrize("after", range(1, 7))
def test_a_packet_whose_carrier_fell_is_not_ended_once_more(after):
    """Its receiver has ended it. The transmitter has discarded the rest, or the reset does."""

    async def script(context, dut, hold):
        def until(taken):
            context.set(dut.up, taken < after)
            return taken == 6

        await give(context, dut, [1, 2, 3, 4, 5], until=until)
        await end_reset(context, dut, 2)
        context.set(dut.up, 1)
        assert await give(context, dut, [7, 8])

    kinds = [kind for _, kind, _ in run(script).flits]
    assert kinds == [Kind.HEAD, *[Kind.DATA] * (after - 1), Kind.HEAD, Kind.DATA, Kind.DATA, Kind.TAIL]


@pytest.mark.parametrize("stops", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_random_packets_and_resets(seed, stops):
    chance = random.Random(seed)
    sent, whole = [], []

    async def script(context, dut, hold):
        for number in range(60):
            words = [number << 16 | at for at in range(chance.randrange(9))]
            sent.append(words)
            if await give(context, dut, words, until=lambda taken: chance.random() < 0.04):
                whole.append(words)
            else:
                await end_reset(context, dut, chance.randrange(1, 5))
            if chance.random() < 0.5:
                await context.tick().repeat(chance.randrange(1, 6))

    out = run(script, stops=stops, slots=5000)
    assert [one.words for one in out.packets if one.sound] == whole
    cut = [one.words for one in out.packets if not one.sound]
    begun = {tuple(words[:count]) for words in sent if words not in whole for count in range(len(words) + 1)}
    assert 5 < len(cut) <= len(sent) - len(whole)
    assert {tuple(words) for words in cut} <= begun
    kinds = [kind for _, kind, _ in out.flits if kind is not Kind.DATA]
    assert kinds == [Kind.HEAD, Kind.TAIL] * len(out.packets)


class EndSpec(wiring.Component):
    """Whatever is offered, and whenever there are resets, STOP and no carrier: no HEAD is on the wire before the TAIL
    of the packet before, and no other flit outside a packet. A sender that is reset begins with a HEAD again.

    A packet ends where the carrier falls. If that lasts for less than its next flit, its rest may follow, as a
    receiver drops it; no reset adds to it."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = EndedPackets()
        i, kind = dut.i, dut.link.kind
        m.d.comb += [
            *(one.eq(AnySeq(1)) for one in (i.valid, dut.link.stop, dut.resets, dut.up)),
            i.payload.data.eq(AnySeq(32)),
            i.payload.kind.as_value().eq(AnySeq(3)),
        ]
        offered_inside, wire_inside = Signal(), Signal()
        waited, before = Signal(), Signal.like(i.payload)
        took = i.valid & i.ready
        is_head, is_tail = i.payload.kind == Kind.HEAD, i.payload.kind == Kind.TAIL
        m.d.comb += Assume(~i.valid | Assumed.flit(i.payload.kind, offered_inside))
        m.d.sync += [waited.eq(i.valid & ~i.ready & ~dut.resets), before.eq(i.payload)]
        with m.If(waited):
            m.d.comb += Assume(i.valid & (i.payload == before))
        with m.If(dut.resets):
            m.d.sync += offered_inside.eq(0)
        with m.Elif(took):
            m.d.sync += offered_inside.eq(is_head | (offered_inside & ~is_tail))
        fell = Signal(2)  # in the packet that is offered, and in that on the wire
        m.d.sync += fell.eq(Cat((fell[0] | (~dut.up & offered_inside)) & ~(took & is_tail), fell[0]))
        with m.If(dut.resets):
            m.d.sync += fell.eq(0)
        with m.If(kind != Kind.IDLE):
            m.d.comb += Assert(Assumed.flit(kind, wire_inside) | (fell[1] & (kind != Kind.HEAD)))
        m.d.sync += wire_inside.eq(dut.up & ((kind == Kind.HEAD) | (wire_inside & (kind != Kind.TAIL))))
        return m


class Assumed:
    """The order of the flits of packets."""

    @staticmethod
    def flit(kind, inside):
        return (inside & ((kind == Kind.DATA) | (kind == Kind.CHECK) | (kind == Kind.TAIL))) | (
            ~inside & (kind == Kind.HEAD)
        )


def test_packets_on_the_wire_begin_and_end_in_turn_whatever_is_reset(prove):
    prove(EndSpec(), mode="bmc", depth=14)
