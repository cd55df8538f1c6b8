"""The serial bridge: frames become accesses and accesses frames, at any divisor, beside each other,
and after line noise."""

import random

import pytest

from lanai_hdl.bfm import simulator
from lanai_hdl.uart import SerialReceiver, SerialTransmitter, UartBridge
from lanai_hdl.uart.bridge import SILENCE, UNANSWERED
from lanai_hdl.uart.frame import MOST_WORDS, Frame, FrameKind

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


def read(addr, count=1):
    return Frame(FrameKind.PIO_READ, addr, asked=count).to_bytes()


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
            await line.send(ctx, Frame.single(FrameKind.PIO_WRITE, addr, data, be).to_bytes())
            await line.send(ctx, read(addr))
            answer = await line.frame(ctx)
            assert (answer.kind, answer.word) == (FrameKind.PIO_DATA, model[addr])

    simulate(dut, bench, line.listen, window.serve)


def test_reads_asked_for_before_the_first_answer_are_all_answered():
    """The most frames that may be, while a memory access has the line: answers queue up behind it."""
    dut = UartBridge(4)
    line, window = Line(dut, 4), Window(dut)
    window.words = {4 * n: 0x11 * n for n in range(3 * UNANSWERED)}

    async def bench(ctx):
        reads = b"".join(read(12 * n, 3) for n in range(UNANSWERED))
        await line.send(ctx, reads[:5])
        ctx.set(dut.mem.burst, 1)
        ctx.set(dut.mem.valid, 1)  # its frame begins just before the first answer is there
        await line.send(ctx, reads[5:])
        frames = [await line.frame(ctx) for _ in range(UNANSWERED + 1)]
        assert frames[0].kind == FrameKind.MEMORY_READ
        found = b"".join(frame.data for frame in frames[1:])
        assert found == b"".join(word.to_bytes(4, "big") for word in window.words.values())

    simulate(dut, bench, line.listen, window.serve)


def words_of(count, salt=0):
    return b"".join((0x9E3779B1 * (n + salt) & 0xFFFFFFFF).to_bytes(4, "big") for n in range(1, count + 1))


@pytest.mark.parametrize("count", [2, MOST_WORDS])
def test_a_frame_has_many_words(count):
    dut = UartBridge(4)
    line, window = Line(dut, 4), Window(dut)

    async def bench(ctx):
        data = words_of(count)
        await line.send(ctx, Frame(FrameKind.PIO_WRITE, 0x100, data).to_bytes())
        await line.send(ctx, read(0x100, count))
        assert await line.frame(ctx) == Frame(FrameKind.PIO_DATA, data=data)
        assert window.words.keys() == set(range(0x100, 0x100 + 4 * count, 4))

    simulate(dut, bench, line.listen, window.serve)


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("write", [False, True])
def test_memory_access_is_passed_on_and_answered(write, refused):
    """A burst in one frame, then one word of which a part is written."""
    dut = UartBridge(4)
    line, bursts = Line(dut, 4), (5, 1)

    async def nic(ctx):
        for beats in bursts:
            for beat in range(beats):
                await offer(ctx, dut.mem, beats - beat, 4 * beat, write=write, be=0xF if beats > 1 else 0b0110)
                if not write:
                    await answered(ctx, beat)
            for beat in range(beats * write):
                await answered(ctx, beat, wait=beat == 0)

    async def answered(ctx, beat, wait=True):
        if wait:
            answer = await ctx.tick().sample(dut.mem.rdata, dut.mem.rerror).until(dut.mem.rvalid)
        else:
            _, _, *answer, valid = await ctx.tick().sample(dut.mem.rdata, dut.mem.rerror, dut.mem.rvalid)
            assert valid
        assert answer[1] == refused
        assert write or refused or answer[0].to_bytes(4, "big") == words_of(5)[4 * beat : 4 * beat + 4]

    async def host(ctx):
        for beats in bursts:
            frame = await line.frame(ctx)
            kind = FrameKind.MEMORY_WRITE if write else FrameKind.MEMORY_READ
            assert (frame.kind, frame.addr, frame.count) == (kind, 0x8000, beats)
            if write:
                assert (frame.data, frame.be) == (words_of(5)[: 4 * beats], 0xF if beats > 1 else 0b0110)
            data = b"" if write else words_of(beats)
            answer = Frame(FrameKind.MEMORY_REFUSED) if refused else Frame(FrameKind.MEMORY_ANSWER, data=data)
            await line.send(ctx, answer.to_bytes())

    sim = simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(line.listen, background=True)
    sim.add_testbench(nic)
    sim.add_testbench(host)
    sim.run()


async def offer(ctx, mem, burst, offset, write=False, be=0xF):
    """Make a beat at 0x8000 + `offset`."""
    word = int.from_bytes(words_of(5)[offset : offset + 4], "big")
    for name, value in {"valid": 1, "write": write, "addr": 0x8000 + offset, "wdata": word, "be": be}.items():
        ctx.set(getattr(mem, name), value)
    ctx.set(mem.burst, burst)
    await ctx.tick().until(mem.ready)
    ctx.set(mem.valid, 0)


def test_pio_goes_on_while_the_nic_waits_for_memory():
    dut = UartBridge(4)
    line, window = Line(dut, 4), Window(dut)

    async def bench(ctx):
        ctx.set(dut.mem.valid, 1)
        ctx.set(dut.mem.burst, 1)
        ctx.set(dut.mem.addr, 0x40)
        assert (await line.frame(ctx)).kind == FrameKind.MEMORY_READ
        await line.send(ctx, Frame.single(FrameKind.PIO_WRITE, 8, 77).to_bytes())
        await line.send(ctx, read(8))
        assert (await line.frame(ctx)).word == 77

    simulate(dut, bench, line.listen, window.serve)


def test_broken_frame_and_unknown_kind_do_no_harm():
    dut = UartBridge(4)
    line, window = Line(dut, 4), Window(dut)

    async def bench(ctx):
        await line.send(ctx, Frame.single(FrameKind.PIO_WRITE, 4, 1).to_bytes()[:5])
        await clocks(ctx, 4 * (SILENCE + 20))
        for wrong in (bytes([0x7F, *range(8)]), bytes([0x1F, 0, *range(4)]), bytes([0x2F, MOST_WORDS + 1, *range(9)])):
            await line.send(ctx, wrong)
            await clocks(ctx, 4 * (SILENCE + 20))
        await line.send(ctx, Frame.single(FrameKind.PIO_WRITE, 8, 2).to_bytes())
        await line.send(ctx, read(8))
        assert (await line.frame(ctx)).word == 2
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
    for frame in (
        Frame.single(FrameKind.PIO_WRITE, 0x123456, 0xDEADBEEF, 0b0101),
        Frame(FrameKind.MEMORY_READ, 0x1000, asked=MOST_WORDS),
        Frame(FrameKind.MEMORY_ANSWER, data=bytes(range(4 * MOST_WORDS))),
        Frame(FrameKind.INTERRUPT),
    ):
        assert Frame.from_bytes(frame.to_bytes()) == frame
    with pytest.raises(ValueError, match="has 10 bytes, not 2"):
        Frame.from_bytes(bytes([0x2F, 1]))
    with pytest.raises(ValueError, match="has 2 bytes, not 1"):
        Frame.from_bytes(b"a")
    with pytest.raises(ValueError, match="frame kind 7"):
        Frame.from_bytes(bytes([0x70, *range(8)]))
    with pytest.raises(ValueError, match="64 words at most, not 65"):
        Frame.from_bytes(bytes([0x1F, 65]))


def test_rising_interrupt_is_told_once():
    dut = UartBridge(4)
    line = Line(dut, 4)

    async def bench(ctx):
        ctx.set(dut.irq, 1)
        assert (await line.frame(ctx)).kind == FrameKind.INTERRUPT
        await clocks(ctx, 1000)
        assert not line.received

    simulate(dut, bench, line.listen)
