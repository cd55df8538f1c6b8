"""The serial bridge: frames become accesses and accesses frames, at any divisor, beside each other,
and after line noise."""

import random

import pytest

from lanai_hdl.bfm import simulator
from lanai_hdl.uart import SerialReceiver, SerialTransmitter, UartBridge
from lanai_hdl.uart.bridge import SILENCE, UNANSWERED
from lanai_hdl.uart.frame import FRAME_BYTES, Frame, FrameKind

from .line import Line, clocks


class Window:
    """Stands for the NIC behind `pio`: words that can be written and read, each answer some clocks
    late."""

    def __init__(self, dut, delay=3):
        self.dut, self.delay, self.words = dut, delay, {}

    async def serve(self, ctx):
        pio = self.dut.pio
        ctx.set(pio.ready, 1)
        while True:
            watched = ctx.tick().sample(pio.valid, pio.write, pio.addr, pio.wdata, pio.be)
            _, _, valid, write, addr, data, be = await watched
            if not valid:
                continue
            ctx.set(pio.ready, 0)
            await clocks(ctx, self.delay)
            if write:
                mask = sum(0xFF << 8 * i for i in range(4) if be >> i & 1)
                self.words[addr] = (self.words.get(addr, 0) & ~mask) | (data & mask)
            else:
                ctx.set(pio.rdata, self.words.get(addr, 0))
                ctx.set(pio.rvalid, 1)
                await ctx.tick()
                ctx.set(pio.rvalid, 0)
            ctx.set(pio.ready, 1)


def simulate(dut, bench, *background):
    sim = simulator(dut)
    sim.add_clock(1e-6)
    for process in background:
        sim.add_testbench(process, background=True)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("divisor", [4, 7, pytest.param(16, marks=[pytest.mark.bench, pytest.mark.slow])])
def test_writes_and_reads_pass_in_order(divisor):
    dut = UartBridge(divisor)
    line, window = Line(dut, divisor), Window(dut)
    rng = random.Random(divisor)

    async def bench(ctx):
        model = {}
        for _ in range(6):
            addr, data, be = 4 * rng.randrange(3), rng.getrandbits(32), rng.randrange(16)
            mask = sum(0xFF << 8 * i for i in range(4) if be >> i & 1)
            model[addr] = (model.get(addr, 0) & ~mask) | (data & mask)
            await line.send(ctx, Frame(FrameKind.PIO_WRITE, addr, data, be).to_bytes())
            await line.send(ctx, Frame(FrameKind.PIO_READ, addr).to_bytes())
            answer = await line.frame(ctx)
            assert (answer.kind, answer.data) == (FrameKind.PIO_DATA, model[addr])

    simulate(dut, bench, line.listen, window.serve)


def test_reads_asked_for_before_the_first_answer_are_all_answered():
    """The most reads that may be, while a memory access has the line: answers queue up behind it."""
    dut = UartBridge(4)
    line, window = Line(dut, 4), Window(dut)
    window.words = {4 * n: 0x11 * n for n in range(UNANSWERED)}

    async def bench(ctx):
        reads = b"".join(Frame(FrameKind.PIO_READ, addr).to_bytes() for addr in window.words)
        await line.send(ctx, reads[: FRAME_BYTES - 1])
        ctx.set(dut.mem.valid, 1)  # its frame begins just before the first answer is there
        await line.send(ctx, reads[FRAME_BYTES - 1 :])
        frames = [await line.frame(ctx) for _ in range(UNANSWERED + 1)]
        assert [frame.data for frame in frames if frame.kind == FrameKind.PIO_DATA] == list(window.words.values())

    simulate(dut, bench, line.listen, window.serve)


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("write", [False, True])
def test_memory_access_is_passed_on_and_answered(write, refused):
    dut = UartBridge(4)
    line = Line(dut, 4)

    async def nic(ctx):
        mem = dut.mem
        for word in range(2):
            ctx.set(mem.valid, 1)
            ctx.set(mem.write, write)
            ctx.set(mem.addr, 0x8000 + 4 * word)
            ctx.set(mem.wdata, 0xA0 + word)
            ctx.set(mem.be, 0b0110)
            await ctx.tick().until(mem.ready)
            ctx.set(mem.valid, 0)
            data, error = await ctx.tick().sample(mem.rdata, mem.rerror).until(mem.rvalid)
            assert error == refused
            assert write or data == 0x5000 + word

    async def host(ctx):
        for word in range(2):
            frame = await line.frame(ctx)
            kind = FrameKind.MEMORY_WRITE if write else FrameKind.MEMORY_READ
            assert (frame.kind, frame.addr, frame.be) == (kind, 0x8000 + 4 * word, 0b0110)
            assert not write or frame.data == 0xA0 + word
            kind = FrameKind.MEMORY_REFUSED if refused else FrameKind.MEMORY_ANSWER
            await line.send(ctx, Frame(kind, 0, 0x5000 + word).to_bytes())

    sim = simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(line.listen, background=True)
    sim.add_testbench(nic)
    sim.add_testbench(host)
    sim.run()


def test_pio_goes_on_while_the_nic_waits_for_memory():
    dut = UartBridge(4)
    line, window = Line(dut, 4), Window(dut)

    async def bench(ctx):
        ctx.set(dut.mem.valid, 1)
        ctx.set(dut.mem.addr, 0x40)
        assert (await line.frame(ctx)).kind == FrameKind.MEMORY_READ
        await line.send(ctx, Frame(FrameKind.PIO_WRITE, 8, 77).to_bytes())
        await line.send(ctx, Frame(FrameKind.PIO_READ, 8).to_bytes())
        assert (await line.frame(ctx)).data == 77

    simulate(dut, bench, line.listen, window.serve)


def test_broken_frame_and_unknown_kind_do_no_harm():
    dut = UartBridge(4)
    line, window = Line(dut, 4), Window(dut)

    async def bench(ctx):
        await line.send(ctx, Frame(FrameKind.PIO_WRITE, 4, 1).to_bytes()[:5])
        await clocks(ctx, 4 * (SILENCE + 20))
        await line.send(ctx, bytes([0x7F, *range(8)]))
        await line.send(ctx, Frame(FrameKind.PIO_WRITE, 8, 2).to_bytes())
        await line.send(ctx, Frame(FrameKind.PIO_READ, 8).to_bytes())
        assert (await line.frame(ctx)).data == 2
        assert window.words == {8: 2}

    simulate(dut, bench, line.listen, window.serve)


def test_receiver_reports_a_byte_without_stop_bit():
    dut = SerialReceiver(4)

    async def bench(ctx):
        ctx.set(dut.rx, 0)
        seen = 0
        for _ in range(60):
            await ctx.tick()
            seen += ctx.get(dut.error)
        assert seen == 1
        assert ctx.get(dut.o.valid) == 0

    simulate(dut, bench)


@pytest.mark.parametrize("block", [SerialReceiver, SerialTransmitter])
def test_divisor_too_small_is_quoted(block):
    with pytest.raises(ValueError, match="divisor=3"):
        block(3)


def test_frames_name_what_is_wrong_with_them():
    frame = Frame(FrameKind.PIO_WRITE, 0x123456, 0xDEADBEEF, 0b0101)
    assert Frame.from_bytes(frame.to_bytes()) == frame
    with pytest.raises(ValueError, match="9 bytes, not 2"):
        Frame.from_bytes(b"ab")
    with pytest.raises(ValueError, match="frame kind 7"):
        Frame.from_bytes(bytes([0x70, *range(8)]))


def test_rising_interrupt_is_told_once():
    dut = UartBridge(4)
    line = Line(dut, 4)

    async def bench(ctx):
        ctx.set(dut.irq, 1)
        assert (await line.frame(ctx)).kind == FrameKind.INTERRUPT
        await clocks(ctx, 8 * 10 * FRAME_BYTES)
        assert not line.received

    simulate(dut, bench, line.listen)
