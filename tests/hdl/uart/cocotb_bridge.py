"""cocotb: a host at the end of a serial line writes, reads and serves memory, all at once."""

import cocotb

from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_hdl.machine import host_offset
from lanai_hdl.uart.bridge import SILENCE
from lanai_hdl.uart.frame import Frame, FrameKind, whole_frames

DIVISOR = 4


class Line:
    """The host's end: bytes out on `rx`, frames in from `tx`."""

    def __init__(self, dut):
        self.dut, self.pins, self.frames = dut, CocotbPins(dut, "mem"), []

    async def clocks(self, count):
        for _ in range(count):
            await self.pins.step()

    async def send(self, *frames):
        for byte in b"".join(frame.to_bytes() for frame in frames):
            for bit in (0, *(byte >> i & 1 for i in range(8)), 1):
                self.dut.rx.value = bit
                await self.clocks(DIVISOR)

    async def listen(self):
        got = bytearray()
        while True:
            while int(self.dut.tx.value):
                await self.clocks(1)
            await self.clocks(DIVISOR // 2)
            byte = 0
            for i in range(8):
                await self.clocks(DIVISOR)
                byte |= int(self.dut.tx.value) << i
            await self.clocks(DIVISOR)
            got.append(byte)
            self.frames += whole_frames(got)

    async def frame(self):
        while not self.frames:
            await self.clocks(1)
        return self.frames.pop(0)


async def start(dut):
    dut.rx.value = 1
    await begin(dut)
    line = Line(dut)
    await line.clocks(4)
    cocotb.start_soon(line.listen())
    return line


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_and_outside_the_map(dut):
    line = await start(dut)
    for n in range(3):
        await line.send(Frame.single(FrameKind.PIO_WRITE, host_offset("SCRATCH0") + 4 * n, 0x01020304 * n))
    await line.send(Frame(FrameKind.PIO_READ, host_offset("SCRATCH0"), asked=3))
    words = b"".join((0x01020304 * n).to_bytes(4, "big") for n in range(3))
    assert await line.frame() == Frame(FrameKind.PIO_DATA, data=words)
    await line.send(*(Frame(FrameKind.PIO_READ, address, asked=1) for address in (0x1FFFFC, host_offset("SCRATCH0"))))
    assert (await line.frame()).word == 0xFFFFFFFF
    assert (await line.frame()).word == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def memory_is_served_and_noise_ignored(dut):
    line = await start(dut)
    pins = CocotbPins(dut, "mem")
    pins.set(valid=1, write=1, addr=0x8000, wdata=7, be=0b0110, burst=1)
    await pins.handshake()
    pins.set(valid=0)
    assert await line.frame() == Frame.single(FrameKind.MEMORY_WRITE, 0x8000, 7, 0b0110)
    dut.rx.value = 0  # a byte of zeros, and silence: no frame
    await line.clocks(9 * DIVISOR)
    dut.rx.value = 1
    await line.clocks((SILENCE + 8) * DIVISOR)
    answering = cocotb.start_soon(line.send(Frame(FrameKind.MEMORY_REFUSED)))
    while not (await pins.step("rvalid"))[0]:
        pass
    assert pins.now("rerror") == (1,)
    await answering
    assert not line.frames
