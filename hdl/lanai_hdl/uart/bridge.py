"""The host bus over a line of bytes: frames to PIO accesses, memory accesses to frames."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.bursts import MemoryBursts
from ..host_bus.ports import PIO_ADDRESS_BITS, HostMemoryPort, PioPort
from ..queue import BlockRamQueue, Queue
from .frame import MOST_WORDS, FrameKind
from .framing import FrameReceiver, FrameSender
from .serial import SerialReceiver, SerialTransmitter

UNANSWERED = 4  # frames of reads
SILENCE = 1024  # bit times without a byte after which a frame that has begun is forgotten
FIFO_SILENCE = 1 << 16  # slots, likewise, where no line has a bit time
COUNT = range(MOST_WORDS + 1)


class PioReader(wiring.Component):
    """Reads words of the NIC's window, those of one frame after the other.

    Members
    -------
    i : ``In(stream of addr, count)``; UNANSWERED of them wait here
    pio : ``Out(PioPort())``
    count : ``Out(stream)``: so many words, of the oldest frame, have all been read
    word : ``Out(stream of 32)``
    idle : ``Out(1)``
    """

    asked = data.StructLayout({"addr": PIO_ADDRESS_BITS, "count": COUNT})

    def __init__(self):
        super().__init__(
            {
                "i": In(stream.Signature(self.asked)),
                "pio": Out(PioPort()),
                "count": Out(stream.Signature(COUNT)),
                "word": Out(stream.Signature(32)),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.asked = asked = Queue(self.asked, UNANSWERED)
        m.submodules.words = words = BlockRamQueue(32, MOST_WORDS)
        m.submodules.counts = counts = Queue(COUNT, UNANSWERED)
        wiring.connect(m, wiring.flipped(self.i), asked.i)
        wiring.connect(m, words.o, wiring.flipped(self.word))
        wiring.connect(m, counts.o, wiring.flipped(self.count))
        oldest, done = asked.o.payload, Signal(COUNT)
        m.d.comb += [
            self.pio.addr.eq(oldest.addr + (done << 2)),
            self.pio.be.eq(0b1111),
            words.i.payload.eq(self.pio.rdata),
            counts.i.payload.eq(oldest.count),
            self.idle.eq(~asked.o.valid & ~counts.o.valid),
        ]
        with m.FSM():
            with m.State("ASK"):
                with m.If(done == oldest.count):
                    m.d.comb += [counts.i.valid.eq(asked.o.valid), asked.o.ready.eq(counts.i.ready)]
                    with m.If(asked.o.valid & counts.i.ready):
                        m.d.sync += done.eq(0)
                with m.Else():
                    m.d.comb += self.pio.valid.eq(asked.o.valid & words.i.ready)
                    with m.If(self.pio.valid & self.pio.ready):
                        m.next = "READ"
            with m.State("READ"):
                m.d.comb += words.i.valid.eq(self.pio.rvalid)
                with m.If(self.pio.rvalid):
                    m.d.sync += done.eq(done + 1)
                    m.next = "ASK"
        return m


class FrameBridge(wiring.Component):
    """Stands where a host would: `pio` drives the NIC's window, `mem` serves its bus mastering,
    both as frames on a line of bytes, such as a byte FIFO.

    The host may send up to UNANSWERED frames of reads before it has had the answer to the first; a write may overtake
    them. Bursts on `mem` are passed on and answered one at a time, so the host's software sees them in order. They
    leave whole, even if the NIC is reset meanwhile. A write that the NIC does not take yet holds up the frames behind
    it, answers to its own reads of memory among them. Nothing here counts time: a board's figures are the board's.

    Parameters
    ----------
    silence : slots without a byte after which a frame that has begun is forgotten

    Members
    -------
    i : ``In(stream of 8)``, from the host; o : ``Out(stream of 8)``, to it
    pio : ``Out(PioPort())``; mem : ``In(HostMemoryPort())``
    reset : ``In(1)``, the NIC's `in_reset`
    irq : ``In(1)``; each rise becomes an INTERRUPT frame
    still : ``Out(1)``: no frame is here, none has begun, and the host owes no answer
    """

    def __init__(self, silence: int = FIFO_SILENCE):
        self._silence = silence
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(8)),
                "pio": Out(PioPort()),
                "mem": In(HostMemoryPort()),
                "reset": In(1),
                "irq": In(1),
                "still": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.gather = gather = FrameReceiver(self._silence)
        m.submodules.send = send = FrameSender()
        m.submodules.reader = reader = PioReader()
        m.submodules.bursts = bursts = MemoryBursts(MOST_WORDS, alike=True)
        wiring.connect(m, wiring.flipped(self.i), gather.i)
        wiring.connect(m, send.o, wiring.flipped(self.o))
        wiring.connect(m, wiring.flipped(self.mem), bursts.mem)
        m.d.comb += bursts.reset.eq(self.reset)
        self._from_host(m, gather.o, reader, bursts)
        rose = self._to_host(m, send, reader, bursts)
        quiet = gather.empty & ~self.i.valid & ~send.o.valid
        m.d.comb += self.still.eq(quiet & reader.idle & bursts.idle & ~rose)
        return m

    def _from_host(self, m, parts, reader, bursts):
        head, writes = parts.payload.head, Signal()
        m.d.comb += [
            reader.i.payload.addr.eq(head.addr),
            reader.i.payload.count.eq(head.count),
            bursts.read.payload.data.eq(parts.payload.word),
        ]
        with m.Switch(head.kind):
            with m.Case(FrameKind.PIO_READ):
                m.d.comb += [reader.i.valid.eq(parts.valid), parts.ready.eq(reader.i.ready)]
            with m.Case(FrameKind.PIO_WRITE):
                m.d.comb += [writes.eq(parts.valid), parts.ready.eq(self.pio.ready & self.pio.write)]
            with m.Case(FrameKind.MEMORY_ANSWER):
                m.d.comb += parts.ready.eq(1)
                with m.If(head.count == 0):
                    m.d.comb += bursts.end.eq(parts.valid)
                with m.Else():
                    m.d.comb += bursts.read.valid.eq(parts.valid)
            with m.Default():
                m.d.comb += [bursts.end.eq(parts.valid), bursts.refused.eq(1), parts.ready.eq(1)]
        self._access(m, parts.payload, writes, reader)

    def _access(self, m, part, writes, reader):
        """A write goes first, but for a read that the NIC has been offered."""
        offered = Signal()
        m.d.sync += offered.eq(reader.pio.valid & ~self.pio.write & ~self.pio.ready)
        m.d.comb += [
            self.pio.write.eq(writes & ~offered),
            self.pio.valid.eq(writes | reader.pio.valid),
            self.pio.addr.eq(Mux(self.pio.write, part.head.addr, reader.pio.addr)),
            self.pio.be.eq(Mux(self.pio.write, part.head.be, reader.pio.be)),
            self.pio.wdata.eq(part.word),
            reader.pio.ready.eq(self.pio.ready & ~self.pio.write),
            reader.pio.rvalid.eq(self.pio.rvalid),
            reader.pio.rdata.eq(self.pio.rdata),
        ]

    def _to_host(self, m, send, reader, bursts):
        """Answers to reads go first: the host waits for them. But a burst that the NIC has begun is not left behind
        one: what was withdrawn by a reset is on its way before the host can know of that reset."""
        head, burst = send.i.payload, bursts.burst.payload
        irq_before, rose = Signal(), Signal()
        m.d.sync += irq_before.eq(self.irq)
        with m.If(self.irq & ~irq_before):
            m.d.sync += rose.eq(1)
        m.d.comb += head.be.eq(0xF)
        with m.FSM():
            with m.State("CHOOSE"):
                with m.If(bursts.burst.valid):
                    m.next = "MEMORY"
                with m.Elif(reader.count.valid & ~bursts.pending):
                    m.next = "PIO"
                with m.Elif(rose):
                    m.next = "INTERRUPT"
            with m.State("PIO"):
                m.d.comb += [
                    head.kind.eq(FrameKind.PIO_DATA),
                    head.count.eq(reader.count.payload),
                    send.i.valid.eq(1),
                    send.word.valid.eq(reader.word.valid),
                    send.word.payload.eq(reader.word.payload),
                    reader.word.ready.eq(send.word.ready),
                    reader.count.ready.eq(send.i.ready),
                ]
                with m.If(send.i.ready):
                    m.next = "CHOOSE"
            with m.State("INTERRUPT"):
                m.d.comb += [send.i.valid.eq(1), head.kind.eq(FrameKind.INTERRUPT)]
                with m.If(send.i.ready):
                    m.d.sync += rose.eq(0)
                    m.next = "CHOOSE"
            with m.State("MEMORY"):
                m.d.comb += [
                    head.kind.eq(Mux(burst.write, FrameKind.MEMORY_WRITE, FrameKind.MEMORY_READ)),
                    head.addr.eq(burst.addr),
                    head.count.eq(burst.count),
                    send.i.valid.eq(1),
                    send.word.valid.eq(bursts.write.valid),
                    send.word.payload.eq(bursts.write.payload.data),
                    bursts.write.ready.eq(send.word.ready),
                    bursts.burst.ready.eq(send.i.ready),
                ]
                with m.If(burst.write):
                    m.d.comb += head.be.eq(bursts.write.payload.be)
                with m.If(send.i.ready):
                    m.next = "CHOOSE"
        return rose


class UartBridge(wiring.Component):
    """A `FrameBridge` on a serial line, `divisor` clocks a bit.

    Members: `rx`, `tx`, the line, of which `rx` may be asynchronous; `pio`, `mem`, `reset` and `irq` as `FrameBridge`
    has them.
    """

    def __init__(self, divisor: int):
        self._divisor = divisor
        super().__init__(
            {
                "rx": In(1, init=1),
                "tx": Out(1, init=1),
                "pio": Out(PioPort()),
                "mem": In(HostMemoryPort()),
                "reset": In(1),
                "irq": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.receiver = receiver = SerialReceiver(self._divisor)
        m.submodules.transmitter = transmitter = SerialTransmitter(self._divisor)
        m.submodules.frames = frames = FrameBridge(SILENCE * self._divisor)
        wiring.connect(m, receiver.o, frames.i)
        wiring.connect(m, frames.o, transmitter.i)
        wiring.connect(m, frames.pio, wiring.flipped(self.pio))
        wiring.connect(m, wiring.flipped(self.mem), frames.mem)
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx)]
        m.d.comb += [frames.irq.eq(self.irq), frames.reset.eq(self.reset)]
        return m
