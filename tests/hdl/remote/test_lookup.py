"""Where bus addresses come from: as the reference model has it, and never from outside a process's
window."""

import random

from amaranth import Module, Signal
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.lookup import BusWindow, Lookup, Need
from lanai_hdl.remote.packets import Status, word
from lanai_hdl.remote.reference import ReferenceExposure, ReferenceNic
from lanai_hdl.remote.tables import EXPOSURES, PlaceWord, Rights

SMALL = Remote(processes=2, peers=2, pages=4, payload=16)
PAGE = 4096


def test_answers_are_those_of_the_reference():
    chance, dut, model = random.Random(4), Lookup(SMALL, 1), ReferenceNic(SMALL, windows={0: 1, 1: 2})
    seen = set()

    async def write(context, owner, index, value, field=None):
        which = dut.page_write if field is None else dut.exposure_write
        for signal, content in ((dut.owner, owner), (dut.index, index), (dut.wdata, value), (dut.field, field or 0)):
            context.set(signal, content)
        context.set(which, 1)
        await context.tick()
        context.set(which, 0)

    async def fill(context):
        for owner in range(2):
            for index in range(SMALL.pages):
                page = chance.choice([owner + 1, owner + 1, owner + 1, 3]) << 16 | chance.getrandbits(16)
                model.pages[owner, index] = page
                await write(context, owner, index, page)
            for number in range(4):
                rights = {name: chance.random() < 0.8 for name in ("valid", "read", "write", "atomic", "little")}
                first, end = sorted(chance.sample(range(3 * PAGE), 2))
                exposure = ReferenceExposure(first, end, chance.getrandbits(16), chance.randrange(8), **rights)
                model.exposures[owner, number] = exposure
                place = word(PlaceWord, key=exposure.key, page=exposure.page)
                for field, value in enumerate((first, end, place, word(Rights, **rights))):
                    await write(context, owner, number, value, field)

    async def ask(context):
        context.set(dut.windows, [{"nibble": owner + 1, "valid": 1} for owner in range(2)])
        while not context.get(dut.ready):
            await context.tick()
        await fill(context)
        port = dut.port_0
        for _ in range(1500):
            owner, number, need = chance.choice([0, 1, 1, 9]), chance.randrange(6), chance.choice(list(Need)[:4])
            exposure = model.exposures.get((owner, number), ReferenceExposure())
            key = exposure.key if chance.random() < 0.9 else 0
            offset = chance.choice([exposure.first, exposure.end, PAGE, 2 * PAGE]) + chance.randrange(-20, 20)
            offset, length = offset & 0xFFFFFFFF, chance.randrange(1, 17)
            question = {
                "owner": owner, "exposure": number, "need": need, "key": key, "offset": offset, "length": length
            }  # fmt: skip
            for name, value in question.items():
                context.set(getattr(port, name), value)
            context.set(port.start, 1)
            done, slots = 0, 0
            while not done:
                _, _, done, status, address, little = await context.tick().sample(
                    port.done, port.status, port.address, port.little
                )
                context.set(port.start, 0)
                slots += 1
            assert slots == 5
            expected = model.lookup(owner, number, need, key, offset, length)
            assert status == expected[0], question
            if expected[0] is Status.OK:
                assert (address, little) == expected[1:]
            seen.add(expected[0])

    bench = Bench(dut, 20_000)
    bench.add(ask)
    bench.run()
    assert seen == {Status.OK, Status.EXPOSURE, Status.KEY, Status.RIGHT, Status.RANGE, Status.PAGE}


class WindowSpec(wiring.Component):
    """Any tables, any question that stands until it is answered: an address that is given out lies
    in the window of `owner`.

    By induction over: the machine rests while no question is open.
    """

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Lookup(SMALL, 1)
        port = dut.port_0
        windows = AnyConst(len(dut.windows.as_value()))
        for name in ("exposure_write", "page_write", "owner", "index", "field", "wdata"):
            m.d.comb += getattr(dut, name).eq(AnySeq(len(getattr(dut, name))))
        m.d.comb += [
            dut.windows.eq(windows),
            port.key.eq(AnySeq(16)),
            port.exposure.eq(AnySeq(4)),
            port.offset.eq(AnySeq(32)),
            port.length.eq(AnySeq(len(port.length))),
        ]
        waiting, owner, need = Signal(), Signal(4), Signal(Need)
        m.d.comb += [port.start.eq(AnySeq(1) & ~waiting), port.owner.eq(owner), port.need.eq(need)]
        with m.If(port.start):
            m.d.sync += waiting.eq(1)
        with m.Elif(port.done):
            m.d.sync += waiting.eq(0)
        with m.If(~waiting & ~port.start):
            m.d.sync += [owner.eq(AnySeq(4)), need.eq(AnySeq(3))]
        window = Signal(BusWindow)
        m.d.comb += window.eq(dut.windows[owner[0]])
        m.d.comb += Assert(waiting | port.start | dut.idle)
        with m.If(port.done & (port.status == Status.OK)):
            m.d.comb += Assert(window.valid & (port.address[28:] == window.nibble), "outside the window")
            m.d.comb += Assert((owner < SMALL.processes) | (need == Need.FLAGS))
        return m


def test_no_address_outside_the_window_is_given_out(prove):
    prove(WindowSpec(), depth=3)


assert EXPOSURES == 16  # `port.exposure` above
