"""The receive DMA's registers in gateware: a write of RECV_LIMIT becomes a checked buffer in the
engine's queue."""

from amaranth import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..config import NicConfig
from ..control.csr import CONTROL
from ..fields import status_word
from ..queue import PopPort, Posted
from .csr import RECEIVE_DMA
from .engine import Completion, RecvBuffer, RecvProgress


class ReceiveDmaRegisters(NicBlock):
    """RECV_*: a write of RECV_LIMIT posts a checked buffer; the oldest finished packet and the
    engine's state show.

    Members
    -------
    pointer : ``In(32)``, value of RECV_POINTER
    coming : ``In(32)``, what the processor writes in this slot, if it writes
    post_limit, limit : ``In``, RECV_LIMIT is written with the value `limit`, which was `coming` one
        slot earlier
    posted : ``Out(Posted)``, the buffer, in the slot of `post_limit`
    overflow : ``Out(1)``, the queue is full and the buffer is dropped
    refused : ``Out(1)``, the buffer is misaligned, leaves the SRAM or ends before it starts, and is
        dropped
    free, progress, finished : ``In``, the engine's
    up : ``In(1)``, the link has a carrier
    watermark : ``In(32)``, value of RECV_WATERMARK
    status, count, completed : ``Out(32)``, values of RECV_STATUS, RECV_COUNT, RECV_DONE
    progressed : ``Out(1)``, level of Event.RECV_PROGRESS
    finished_packets : ``In(PopPort)``, the engine's completions
    pop : ``In(1)``, RECV_VERDICT is written: the oldest completion is taken
    length, buffer, verdict : ``Out(32)``, the oldest completion, 0 if there is none
    arrived : ``Out(1)``, level of Event.RECV_DONE
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__(
            {
                "pointer": In(32),
                "limit": In(32),
                "coming": In(32),
                "post_limit": In(1),
                "posted": Out(Posted(RecvBuffer)),
                "overflow": Out(1),
                "refused": Out(1),
                "free": In(range(config.recv_queue + 1)),
                "progress": In(RecvProgress()),
                "finished": In(1),
                "up": In(1),
                "watermark": In(32),
                "status": Out(32),
                "count": Out(32),
                "progressed": Out(1),
                "completed": Out(32),
                "finished_packets": In(PopPort(Completion)),
                "pop": In(1),
                "length": Out(32),
                "buffer": Out(32),
                "verdict": Out(32),
                "arrived": Out(1),
            }
        )

    def connect_registers(self, bank):
        registers = RECEIVE_DMA.registers
        return [
            self.pointer.eq(bank.value(registers.RECV_POINTER)),
            self.limit.eq(bank.wdata),
            self.coming.eq(bank.cpu.wdata),
            self.post_limit.eq(bank.written(registers.RECV_LIMIT)),
            self.watermark.eq(bank.value(registers.RECV_WATERMARK)),
            self.pop.eq(bank.written(registers.RECV_VERDICT)),
            bank.value(registers.RECV_COUNT).eq(self.count),
            bank.value(registers.RECV_STATUS).eq(self.status),
            bank.value(registers.RECV_LENGTH).eq(self.length),
            bank.value(registers.RECV_BUFFER).eq(self.buffer),
            bank.value(registers.RECV_VERDICT).eq(self.verdict),
            bank.value(registers.RECV_DONE).eq(self.completed),
        ]

    def raises(self):
        yield Raises(RECEIVE_DMA.events.RECV_DONE, self.arrived)
        yield Raises(RECEIVE_DMA.events.RECV_PROGRESS, self.progressed)
        yield Raises(CONTROL.events.BUS_ERROR, self.refused | self.overflow)

    def counts(self):
        yield Counts(RECEIVE_DMA.counters.RECV_REFUSED, self.refused)
        yield Counts(CONTROL.counters.QUEUE_OVERFLOWS, self.overflow)

    def elaborate(self, platform):
        m = Module()
        # Checked speculatively, one slot before the write strobe, to keep the comparators off the
        # path to the buffer queue.
        wrong = Signal()
        bits = self.config.sram_size.bit_length()  # of an end; the size is a power of two
        m.d.sync += wrong.eq(
            (self.coming[:bits] < self.pointer[:bits])
            | self.pointer[bits:].any()
            | self.coming[bits:].any()
            | (self.coming[bits - 1] & self.coming[: bits - 1].any())
            | self.pointer[:2].any()
            | self.coming[:2].any()
        )
        m.d.comb += [
            self.posted.post.eq(self.post_limit & ~wrong),
            self.posted.entry.pointer.eq(self.pointer),
            self.posted.entry.limit.eq(self.limit),
            self.overflow.eq(self.posted.post & self.posted.full),
            self.refused.eq(self.post_limit & wrong),
        ]
        self._show(m)
        return m

    def _show(self, m):
        progress, oldest = self.progress, self.finished_packets
        m.d.comb += [
            self.status.eq(
                status_word(self.free, busy=progress.busy, checked=progress.busy & progress.checked, link_up=self.up)
            ),
            self.count.eq(Mux(progress.busy, progress.pointer - progress.start, 0)),
            self.progressed.eq(progress.busy & self.watermark.any() & (self.count >= self.watermark)),
            self.arrived.eq(oldest.valid),
            oldest.pop.eq(self.pop),
        ]
        with m.If(oldest.valid):
            m.d.comb += [
                self.length.eq(oldest.payload.length),
                self.buffer.eq(oldest.payload.buffer),
                self.verdict.eq(oldest.payload.verdict),
            ]
        with m.If(self.finished):
            m.d.sync += self.completed.eq(self.completed + 1)
