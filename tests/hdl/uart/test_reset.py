"""The NIC is reset while its DMA is on the serial line: no word of the old transfer gets into the next
one, and the host sees whole frames only."""

import pytest
from amaranth import Module
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench, stream_get, stream_put
from lanai_hdl.config import NicConfig
from lanai_hdl.control.control import RESET_SLOTS
from lanai_hdl.host_bus.bus import HostBus
from lanai_hdl.uart import UartBridge
from lanai_hdl.uart.frame import Frame, FrameKind

from .line import Line, clocks

DIVISOR = 4
BYTE = 10 * DIVISOR  # slots of a byte on the line
WORDS = 2
OLD, NEW = 0x1000, 0x2000  # where the transfer that is cut off and the next one are in host memory
THINKS = 30  # slots that the host takes to answer
REQUEST, ANSWER, WORD = 6, 2, 4  # bytes without words; those of a word
BURST = (REQUEST + ANSWER + WORD * WORDS) * BYTE + THINKS  # slots of both words, in one frame there and one back


class Board:
    """The host bus of a NIC at the end of a serial line, and a host that serves its memory there."""

    def __init__(self):
        self.bus, self.bridge, top = HostBus(NicConfig(sram_size=4096)), UartBridge(DIVISOR), Module()
        top.submodules.bus, top.submodules.bridge = self.bus, self.bridge
        wiring.connect(top, self.bridge.pio, self.bus.pio)
        wiring.connect(top, self.bus.mem, self.bridge.mem)
        top.d.sync += self.bridge.reset.eq(self.bus.reset)
        self.bench = Bench(top, 10_000_000)
        self.line = Line(self.bridge, DIVISOR)
        self.memory = {}
        self.deaf = False  # what comes from the NIC is lost

    def play(self, bench):
        self.bench.add_background(self.line.listen)
        self.bench.add_background(self.serve)
        self.bench.add(bench)
        self.bench.run()

    async def serve(self, context):
        while True:
            frame = await self.line.frame(context)
            if self.deaf:
                continue
            await clocks(context, THINKS)
            if frame.kind is FrameKind.MEMORY_WRITE:
                assert frame.be == 0b1111
                for n in range(frame.count):
                    self.memory[frame.addr + 4 * n] = int.from_bytes(frame.data[4 * n : 4 * n + 4], "big")
                answer = Frame(FrameKind.MEMORY_ANSWER)
            else:
                assert frame.kind is FrameKind.MEMORY_READ
                words = (self.memory.get(frame.addr + 4 * n, 0) for n in range(frame.count))
                answer = Frame(FrameKind.MEMORY_ANSWER, data=b"".join(word.to_bytes(4, "big") for word in words))
            await self.line.send(context, answer.to_bytes())

    async def reset(self, context):
        engine = self.bus.engine
        for signal in (engine.burst.valid, engine.write.valid, engine.read.ready):
            context.set(signal, 0)
        context.set(self.bus.reset, 1)
        await context.tick().repeat(RESET_SLOTS)
        context.set(self.bus.reset, 0)

    async def begin(self, context, write, address, words):
        """Ask for a burst; offer the words, or space for them."""
        engine = self.bus.engine
        await stream_put(context, engine.burst, [{"write": write, "word": address // 4, "words": len(words)}])
        if write:
            await stream_put(context, engine.write, [{"data": word, "be": 0b1111} for word in words])

    async def transfer(self, context, write, address, words):
        await self.begin(context, write, address, words)
        if not write:
            got = await stream_get(context, self.bus.engine.read, len(words))
            assert [(word.data, word.error) for word in got] == [(word, 0) for word in words]
        while not context.get(self.bus.idle):
            await context.tick()


async def cut_off(board, context, phase, writes, writes_next):
    """One transfer is cut off `phase` slots after it was begun; the next one must be right."""
    old = [0xA0A1A2A3 + (phase << 8) + n for n in range(WORDS)]
    new = [0xC0C1C2C3 + (phase << 8) + n for n in range(WORDS)]
    board.memory.clear()
    if not writes:
        board.memory.update({OLD + 4 * n: word for n, word in enumerate(old)})
    if not writes_next:
        board.memory.update({NEW + 4 * n: word for n, word in enumerate(new)})
    await board.begin(context, writes, OLD, old)
    context.set(board.bus.engine.read.ready, 1)
    await context.tick().repeat(phase)
    await board.reset(context)
    await board.transfer(context, writes_next, NEW, new)
    whole = {OLD + 4 * n: word for n, word in enumerate(old)} | {NEW + 4 * n: word for n, word in enumerate(new)}
    assert board.memory.items() <= whole.items(), f"phase {phase}: {board.memory}"
    assert all(board.memory[NEW + 4 * n] == word for n, word in enumerate(new)), f"phase {phase}: {board.memory}"


def play(phases, writes, writes_next):
    board = Board()

    async def bench(context):
        for phase in phases:
            await cut_off(board, context, phase, writes, writes_next)

    board.play(bench)


@pytest.mark.parametrize("writes", [False, True])
def test_a_transfer_cut_off_leaves_the_next_one_alone(writes):
    """In the first, a middle and the last byte of a request, and of an answer."""
    play((BYTE // 2 + BYTE * n for n in (0, 5, 8, 11, 15)), writes, writes_next=not writes)
    play((BYTE // 2 + BYTE * n for n in (1, 14)), writes, writes_next=writes)


@pytest.mark.parametrize("lost", [False, True])
def test_a_lost_answer_is_made_up_for_after_a_reset(lost):
    """The host says once more that it refuses. A bridge that waits for no answer drops that."""
    board = Board()
    board.memory = {OLD: 1, NEW: 2, NEW + 4: 3}

    async def bench(context):
        board.deaf = lost
        await board.begin(context, False, OLD, [0])
        context.set(board.bus.engine.read.ready, 1)
        await context.tick().repeat(2 * BURST)
        board.deaf = False
        await board.reset(context)
        await board.line.send(context, Frame(FrameKind.MEMORY_REFUSED).to_bytes())
        await board.transfer(context, False, NEW, [2, 3])

    board.play(bench)


@pytest.mark.ci(whole=True)  # both directions
@pytest.mark.parametrize(
    ("writes", "writes_next"),
    [
        (False, True),
        (True, False),
        pytest.param(False, False, marks=pytest.mark.by_hand),
        pytest.param(True, True, marks=pytest.mark.by_hand),
    ],
)
def test_in_whichever_bit(writes, writes_next):
    """In each bit of the burst; in any of its slots."""
    phases = range(1, BURST + BYTE, DIVISOR)
    play((phase + n % DIVISOR for n, phase in enumerate(phases)), writes, writes_next)
