"""The host's end of a serial line, as tests play it."""

from lanai_hdl.uart.frame import whole_frames

WATCHDOG = 40_000


async def clocks(ctx, count):
    """Wait; unlike `tick().repeat()` this may be left pending when the simulation ends."""
    for _ in range(count):
        await ctx.tick()


class Line:
    """The host's end of the serial line, as software: bytes out on rx, bytes in from tx."""

    def __init__(self, dut, divisor):
        self.dut, self.divisor, self.received = dut, divisor, bytearray()

    async def send(self, ctx, data):
        for byte in data:
            for bit in [0, *(byte >> i & 1 for i in range(8)), 1]:
                ctx.set(self.dut.rx, bit)
                await clocks(ctx, self.divisor)

    async def listen(self, ctx):
        while True:
            while ctx.get(self.dut.tx):
                await ctx.tick()
            await clocks(ctx, self.divisor // 2)
            byte = 0
            for i in range(8):
                await clocks(ctx, self.divisor)
                byte |= ctx.get(self.dut.tx) << i
            await clocks(ctx, self.divisor)
            assert ctx.get(self.dut.tx) == 1, "no stop bit"
            self.received.append(byte)

    async def frame(self, ctx):
        """The next frame from the NIC."""
        for _ in range(WATCHDOG):
            for frame in whole_frames(self.received):
                return frame
            await ctx.tick()
        raise AssertionError(f"no frame in {WATCHDOG} clocks; so far {self.received.hex()}")
