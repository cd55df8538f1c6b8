"""The host bus over a line of bytes: frames to PIO accesses, memory accesses to frames."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import HostMemoryPort, PioPort
from ..queue import Queue
from .frame import FRAME_BYTES, FrameKind, FrameLayout
from .serial import SerialReceiver, SerialTransmitter

UNANSWERED = 4  # reads
SILENCE = 32  # bit times without a byte after which a frame that has begun is forgotten
FIFO_SILENCE = 1 << 16  # slots, likewise, where no line has a bit time


class FrameReceiver(wiring.Component):
    """Gathers nine bytes into a frame. A frame broken off by `silence` slots without a byte is forgotten, so that
    both sides find step again.

    Members: `i`, bytes; `o`, frames; `empty`, ``Out(1)``: no frame has begun.
    """

    def __init__(self, silence: int):
        self._silence = silence
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(FrameLayout)), "empty": Out(1)})

    def elaborate(self, platform):
        m = Module()
        count = Signal(range(FRAME_BYTES + 1))
        quiet = Signal(range(self._silence + 1))
        bits = Signal(8 * FRAME_BYTES)
        m.d.comb += [
            self.i.ready.eq(count != FRAME_BYTES),
            self.o.valid.eq(count == FRAME_BYTES),
            self.o.payload.as_value().eq(bits),
            self.empty.eq(count == 0),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [bits.eq(Cat(self.i.payload, bits[:-8])), count.eq(count + 1), quiet.eq(0)]
        with m.Elif(self.o.valid):
            with m.If(self.o.ready):
                m.d.sync += count.eq(0)
        with m.Elif(quiet == self._silence):
            m.d.sync += count.eq(0)
        with m.Else():
            m.d.sync += quiet.eq(quiet + 1)
        return m


class FrameSender(wiring.Component):
    """Sends a frame as nine bytes. Members: `i`, frames; `o`, bytes."""

    i: In(stream.Signature(FrameLayout))
    o: Out(stream.Signature(8))

    def elaborate(self, platform):
        m = Module()
        index = Signal(range(FRAME_BYTES))
        line = self.i.payload.as_bytes()
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.o.payload.eq(Array(line.word_select(i, 8) for i in range(FRAME_BYTES))[index]),
            self.i.ready.eq(self.o.ready & (index == FRAME_BYTES - 1)),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += index.eq(index + 1)
            with m.If(index == FRAME_BYTES - 1):
                m.d.sync += index.eq(0)
        return m


class FrameBridge(wiring.Component):
    """Stands where a host would: `pio` drives the NIC's window, `mem` serves its bus mastering,
    both as frames on a line of bytes, such as a byte FIFO.

    The host may ask for up to UNANSWERED reads before it has had the answer to the first. An access
    on `mem` is passed on and answered one at a time, so the host's software sees them in order. It
    is kept here from when it is taken: its frame leaves whole, even if the NIC is reset meanwhile.
    Frames of unknown kind are dropped. Nothing here counts time: a board's figures are the board's.

    Parameters
    ----------
    silence : slots without a byte after which a frame that has begun is forgotten

    Members
    -------
    i : ``In(stream of 8)``, from the host; o : ``Out(stream of 8)``, to it
    pio : ``Out(PioPort())``; mem : ``In(HostMemoryPort())``
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
                "irq": In(1),
                "still": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.gather = gather = FrameReceiver(self._silence)
        m.submodules.send = send = FrameSender()
        wiring.connect(m, wiring.flipped(self.i), gather.i)
        wiring.connect(m, send.o, wiring.flipped(self.o))
        self._from_host(m, gather.o)
        asking, rose = self._to_host(m, send.i)
        m.d.comb += self.still.eq(gather.empty & ~self.i.valid & ~send.o.valid & ~asking & ~rose)
        return m

    def _from_host(self, m, frames):
        frame = frames.payload
        m.d.comb += [
            self.pio.addr.eq(frame.addr),
            self.pio.wdata.eq(frame.data),
            self.pio.be.eq(frame.be),
            self.pio.write.eq(frame.kind == FrameKind.PIO_WRITE),
            self.mem.rdata.eq(frame.data),
            self.mem.rerror.eq(frame.kind == FrameKind.MEMORY_REFUSED),
        ]
        with m.Switch(frame.kind):
            with m.Case(FrameKind.PIO_READ, FrameKind.PIO_WRITE):
                m.d.comb += [self.pio.valid.eq(frames.valid), frames.ready.eq(self.pio.ready)]
            with m.Case(FrameKind.MEMORY_ANSWER, FrameKind.MEMORY_REFUSED):
                m.d.comb += [self.mem.rvalid.eq(frames.valid), frames.ready.eq(1)]
            with m.Default():
                m.d.comb += frames.ready.eq(1)

    def _to_host(self, m, frames):
        """PIO answers first: the host waits for them. A memory access waits in `mem` until its
        frame can go. So none that was withdrawn before a PIO answer leaves behind that answer."""
        m.submodules.answers = answers = Queue(32, UNANSWERED)
        asking = Signal()  # a memory access was taken and its answer has not come
        access = Signal(FrameLayout)  # the memory access
        frame = frames.payload
        m.d.comb += frame.be.eq(0xF)
        m.d.comb += [answers.i.valid.eq(self.pio.rvalid), answers.i.payload.eq(self.pio.rdata)]
        irq_before, rose = Signal(), Signal()
        m.d.sync += irq_before.eq(self.irq)
        with m.If(self.irq & ~irq_before):
            m.d.sync += rose.eq(1)
        with m.FSM():
            with m.State("choose"):
                with m.If(answers.o.valid):
                    m.next = "pio"
                with m.Elif(rose):
                    m.next = "interrupt"
                with m.Elif(self.mem.valid & ~asking):
                    m.d.comb += self.mem.ready.eq(1)
                    m.d.sync += [
                        asking.eq(1),
                        access.kind.eq(Mux(self.mem.write, FrameKind.MEMORY_WRITE, FrameKind.MEMORY_READ)),
                        access.addr.eq(self.mem.addr),
                        access.data.eq(self.mem.wdata),
                        access.be.eq(self.mem.be),
                    ]
                    m.next = "memory"
            with m.State("pio"):
                m.d.comb += [frames.valid.eq(1), frame.kind.eq(FrameKind.PIO_DATA), frame.data.eq(answers.o.payload)]
                m.d.comb += answers.o.ready.eq(frames.ready)
                with m.If(frames.ready):
                    m.next = "choose"
            with m.State("interrupt"):
                m.d.comb += [frames.valid.eq(1), frame.kind.eq(FrameKind.INTERRUPT)]
                with m.If(frames.ready):
                    m.d.sync += rose.eq(0)
                    m.next = "choose"
            with m.State("memory"):
                m.d.comb += [frames.valid.eq(1), frame.eq(access)]
                with m.If(frames.ready):
                    m.next = "choose"
        with m.If(self.mem.rvalid):
            m.d.sync += asking.eq(0)
        return asking, rose


class UartBridge(wiring.Component):
    """A `FrameBridge` on a serial line, `divisor` clocks a bit.

    Members: `rx`, `tx`, the line, of which `rx` may be asynchronous; `pio`, `mem` and `irq` as `FrameBridge` has
    them.
    """

    def __init__(self, divisor: int):
        self._divisor = divisor
        super().__init__(
            {
                "rx": In(1, init=1),
                "tx": Out(1, init=1),
                "pio": Out(PioPort()),
                "mem": In(HostMemoryPort()),
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
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx), frames.irq.eq(self.irq)]
        return m
