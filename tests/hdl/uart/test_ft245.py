"""The asynchronous FIFO of a USB chip: every byte once and in order, its timing kept, whatever either side does."""

import itertools
import random

import pytest
from amaranth import ClockDomain, Module, ResetSignal, Signal
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring
from amaranth.sim import Simulator

from lanai_hdl.bfm import Bench, stream_get, stream_put
from lanai_hdl.uart.ft245 import REST, SETUP, STROBE, TURN, ClockedFt245, Ft245, slots_of

KHZ = 66_666
BYTES = 60


class Chip:
    """The chip: bytes for the FPGA in `has`, those from it in `got`. It checks the FPGA's timing."""

    INACTIVE = 6  # slots of RXF# and TXE# between two bytes

    def __init__(self, dut, has, seed, stalls):
        self.pins, self.has, self.got = dut.pins, list(has), []
        self.chance, self.stalls = random.Random(seed), stalls
        self.since = {"rd": 99, "wr": 99, "data": 0}  # slots since each has changed

    def wait(self):
        return self.INACTIVE + (self.chance.randrange(40) if self.stalls and self.chance.random() < 0.4 else 0)

    async def serve(self, context):
        pins, before, shut = self.pins, {"rd": 0, "wr": 0, "data": (0, 0)}, {"rxf": 9, "txe": 5}
        while True:
            now = {name: context.get(getattr(pins, name)) for name in ("rd", "wr")}
            now["data"] = (context.get(pins.drive), context.get(pins.data_o))
            ended = {name: self.since[name] for name in now if now[name] != before[name]}
            self.since = {name: 1 if name in ended else self.since[name] + 1 for name in now}
            for name in ended.keys() & {"rd", "wr"}:
                least = REST if now[name] else STROBE
                assert ended[name] >= slots_of(least, KHZ), f"{name} is too short"
            if "wr" in ended and now["wr"]:
                assert shut["txe"] <= 0, "no space"
                assert now["data"][0], "nothing on the pins"
                assert self.since["data"] > slots_of(SETUP, KHZ), "no time to set up"
                self.got.append(now["data"][1])
                shut["txe"] = self.wait()
            assert not (now["wr"] and "data" in ended), "changed while it was taken"
            if "rd" in ended and now["rd"]:
                assert shut["rxf"] <= 0
                assert self.has, "nothing there"
            assert not (now["rd"] and now["data"][0]), "both drive the pins"
            if "rd" in ended and not now["rd"]:
                del self.has[0]
                shut["rxf"] = self.wait()
            late = self.since["rd"] < slots_of(STROBE, KHZ)  # until then the pins have anything
            context.set(pins.data_i, self.has[0] if now["rd"] and not late else self.chance.getrandbits(8))
            shut = {name: count - 1 for name, count in shut.items()}
            context.set(pins.rxf, bool(self.has) and not now["rd"] and shut["rxf"] <= 0)
            context.set(pins.txe, shut["txe"] <= 0)
            before = now
            await context.tick()


@pytest.mark.parametrize("stalls", [False, True])
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.ci) for n in range(2, 6))])
def test_bytes_pass_both_ways_in_order(stalls, seed):
    dut, chance = Ft245(KHZ), random.Random(seed)
    down, up = ([chance.getrandbits(8) for _ in range(BYTES)] for _ in range(2))
    chip, bench, slots = Chip(dut, down, seed, stalls), Bench(dut, 20_000), itertools.count()

    async def take(context):
        for byte in down:
            assert await stream_get(context, dut.o, 1) == [byte]
            for _ in range(chance.choice([0, 0, 60]) if stalls else 0):
                await context.tick()

    async def give(context):
        await stream_put(context, dut.i, up, idle=0.3 if stalls else 0.0, seed=seed)
        while len(chip.got) < BYTES:
            await context.tick()

    async def clock(context):
        while True:
            await context.tick()
            next(slots)

    for process in (chip.serve, clock):
        bench.add_background(process)
    bench.add(take)
    bench.add(give)
    bench.run()
    assert chip.got == up
    assert chip.has == []
    if not stalls:
        assert next(slots) / BYTES / KHZ < 1e-3 / 2.2, "2.2 MB/s each way while both are busy"


class ClockedChip:
    """The chip with its clock. What it says holds from one edge to the next. Neither side drives beside the other."""

    def __init__(self, dut, has, seed, stalls):
        self.dut, self.has, self.got = dut, list(has), []
        self.chance, self.stalls = random.Random(seed), stalls

    async def serve(self, context):
        pins, drove = self.dut.pins, [False, False]
        while True:
            says = [not self.stalls or self.chance.random() < 0.7 for _ in range(2)]
            rxf, txe = bool(self.has) and says[0], says[1]
            context.set(pins.rxf, rxf)
            context.set(pins.txe, txe)
            outputs = {name: context.get(getattr(pins, name)) for name in ("oe", "rd", "wr", "drive", "data_o")}
            drives = [bool(outputs["oe"]), bool(outputs["drive"])]
            assert not (drives[0] and (drives[1] or drove[1])), "no clock between the two that drive the pins"
            assert not (drives[1] and drove[0])
            assert outputs["oe"] or not outputs["rd"]
            context.set(pins.data_i, self.has[0] if drove[0] and drives[0] and rxf else self.chance.getrandbits(8))
            if outputs["rd"] and rxf:
                assert drove[0], "OE# comes a clock before RD#"
                del self.has[0]
            if outputs["wr"] and txe:
                assert outputs["drive"]
                self.got.append(outputs["data_o"])
            drove = drives
            await context.tick("usb")


@pytest.mark.parametrize(
    ("stalls", "slot"),
    [(True, 16e-9), *(pytest.param(*case, marks=pytest.mark.ci) for case in [(False, 16e-9), (True, 40e-9)])],
)
def test_bytes_pass_with_the_chips_clock_in_order(stalls, slot):
    count = TURN + 100
    dut, chance = ClockedFt245(), random.Random(7)
    down, up = ([chance.getrandbits(8) for _ in range(count)] for _ in range(2))
    chip, top, found = ClockedChip(dut, down, 7, stalls), Module(), []
    top.domains += [ClockDomain("sync"), ClockDomain("usb")]
    top.submodules.dut = dut
    bench = Simulator(top)
    bench.add_clock(slot)
    bench.add_clock(1 / 60e6, domain="usb")
    bench.add_testbench(chip.serve, background=True)

    async def take(context):
        found.extend(await stream_get(context, dut.o, count, pause=0.3 if stalls else 0.0, seed=1))

    async def give(context):
        await stream_put(context, dut.i, up, idle=0.3 if stalls else 0.0, seed=2)
        while len(chip.got) < count:
            await context.tick()

    bench.add_testbench(take)
    bench.add_testbench(give)
    bench.run_until(12 * count * slot)
    assert (found, chip.got, chip.has) == (down, up, [])


class PinsSpec(wiring.Component):
    """Byte n that the chip gives is byte n on `o`, and byte n on `i` is byte n that it gets; never do both drive."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Ft245(16_000)  # strobe, set-up and rest of 1, 1 and 3 slots
        pins, chosen = dut.pins, AnyConst(3)
        m.d.comb += [Assume(~ResetSignal()), dut.i.valid.eq(AnySeq(1)), dut.o.ready.eq(AnySeq(1))]
        m.d.comb += [pins.data_i.eq(AnySeq(8)), dut.i.payload.eq(AnySeq(8))]
        before, busy = Signal(2), {"rxf": Signal(2), "txe": Signal(2)}
        m.d.sync += before.eq(pins.rd | pins.wr << 1)
        began, ended = (pins.wr & ~before[1]), (before[0] & ~pins.rd)
        for name, event in (("rxf", pins.rd | ended), ("txe", pins.wr)):
            wanted = AnySeq(1)
            port, count = getattr(pins, name), busy[name]
            last = Signal()
            with m.If(event):
                m.d.sync += count.eq(1)
                m.d.comb += port.eq(0)
            with m.Elif(count != 0):
                m.d.sync += count.eq(count - 1)
            with m.Else():
                m.d.comb += port.eq(wanted | last)  # it stays until a byte was taken
            m.d.sync += last.eq(port)
        for name, put, data, taken, found in (
            ("down", pins.rd, pins.data_i, dut.o.valid & dut.o.ready, dut.o.payload),
            ("up", dut.i.valid & dut.i.ready, dut.i.payload, began, pins.data_o),
        ):
            given, got, byte = Signal(4, name=f"given_{name}"), Signal(4, name=f"got_{name}"), Signal(8)
            m.d.sync += [given.eq(given + put), got.eq(got + taken)]
            with m.If(put & (given == chosen)):
                m.d.sync += byte.eq(data)
            with m.If(taken):
                m.d.comb += Assert(got != given)
                with m.If(got == chosen):
                    m.d.comb += Assert(found == byte)
            m.d.comb += Assert((given - got)[:4] <= 1)
        m.d.comb += [Assert(~(pins.rd & pins.drive)), Assert(~pins.wr | pins.drive)]
        return m


@pytest.mark.slow
@pytest.mark.proof
def test_no_byte_is_lost_or_doubled(prove):
    prove(PinsSpec(), mode="bmc", depth=30)
