"""Receive DMA: packets from the wire into posted buffers."""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..config import BlockedAction, NicConfig
from ..fields import bit
from ..lbus.lbus import ADDRESS_BITS, LbusMaster
from ..lbus.masters import RECV
from ..link.csr import LINK
from ..link.deframer import Part, PartKind
from ..queue import BypassQueue, PopPort, PopQueue
from .csr import RECEIVE_DMA, Verdict

END_BITS = ADDRESS_BITS + 1  # an end may lie just past the last byte
VERDICT_BITS = max(Verdict).bit_length()


class RecvBuffer(data.Struct):
    """SRAM from `pointer` up to but not including `limit`."""

    pointer: END_BITS
    limit: END_BITS


class Completion(data.Struct):
    """A finished packet: bytes written, where, how it fared (`machine.Verdict`)."""

    length: END_BITS
    buffer: END_BITS
    verdict: VERDICT_BITS


class RecvProgress(wiring.Signature):
    """The part of the packet now arriving that has been written: all of [start, pointer) is there, and
    nothing of [pointer, limit)."""

    def __init__(self):
        super().__init__(
            {
                "busy": Out(1),
                "start": Out(END_BITS),
                "pointer": Out(END_BITS),
                "limit": Out(END_BITS),
                "checked": Out(1),
            }
        )


class ReceiveDma(NicBlock):
    """Writes each packet to the next posted buffer, from its start, and queues a completion.

    Members: `i`, parts of packets; `post`, a stream of buffers, checked (word aligned, in order,
    within the SRAM); `free` entries of their queue; `completed`, a `PopPort`; `lbus`; `progress`. A
    packet waits, not taken off the wire, while no buffer is posted or the completion queue is full.
    What does not fit its buffer is dropped, and the verdict says so. A packet that has waited
    `blocked_slots` is dropped (`timeout`) or, as configured, `reset` asks for a reset of the NIC
    (NP-19). Events of a slot: `finished` with `verdict`. `idle` while no packet is under way.

    Attribute, for proofs: `fills`, a packet is written to its buffer.
    """

    lbus_master = RECV

    def __init__(self, config: NicConfig):
        self.config = config
        self.fills = Signal()
        super().__init__(
            {
                "i": In(stream.Signature(Part)),
                "post": In(stream.Signature(RecvBuffer)),
                "free": Out(range(config.recv_queue + 1), init=config.recv_queue),
                "completed": Out(PopPort(Completion)),
                "lbus": Out(LbusMaster()),
                "progress": Out(RecvProgress()),
                "finished": Out(1),
                "verdict": Out(VERDICT_BITS),
                "timeout": Out(1),
                "reset": Out(1),
                "idle": Out(1),
            }
        )

    def connect_registers(self, bank):
        return [bank.value(RECEIVE_DMA.registers.RECV_CURRENT).eq(self.progress.start)]

    def raises(self):
        yield Raises(RECEIVE_DMA.events.RECV_OVERRUN, self._found(Verdict.OVERRUN))
        yield Raises(LINK.events.LINK_ERROR, self._found(Verdict.CRC) | self._found(Verdict.TRUNCATED))

    def counts(self):
        counters = RECEIVE_DMA.counters
        crc, truncated, overrun = map(self._found, (Verdict.CRC, Verdict.TRUNCATED, Verdict.OVERRUN))
        yield Counts(counters.RX_PACKETS, self.finished & ~(crc | overrun | truncated))
        yield Counts(counters.RX_CRC_ERRORS, crc)
        yield Counts(counters.RX_TRUNCATED, truncated)
        yield Counts(counters.RX_OVERRUNS, overrun)
        yield Counts(counters.RX_TIMEOUTS, self.timeout)

    def _found(self, flag):
        """In this slot a packet finished with `flag` in its verdict."""
        return self.finished & bit(self.verdict, flag)

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffers = buffers = BypassQueue(RecvBuffer, self.config.recv_queue)
        m.submodules.completions = completions = PopQueue(Completion, self.config.completions)
        wiring.connect(m, wiring.flipped(self.post), buffers.i)
        wiring.connect(m, completions.o, wiring.flipped(self.completed))
        progress, part = self.progress, self.i.payload
        overrun = Signal()
        m.d.comb += [
            self.free.eq(buffers.free),
            self.verdict.eq(self._verdict(part, overrun, progress.checked)),
            completions.i.payload.length.eq(progress.pointer - progress.start),
            completions.i.payload.buffer.eq(progress.start),
            completions.i.payload.verdict.eq(self.verdict),
            self.lbus.write.eq(1),
            self.lbus.be.eq(0b1111),
            self.lbus.addr.eq(progress.pointer),
        ]
        with m.If(self.lbus.grant):
            m.d.sync += [self.lbus.request.eq(0), progress.pointer.eq(progress.pointer + 4)]
        blocked = self._blocked(m)

        with m.FSM():
            with m.State("WAIT"):
                # `ready` must not depend on `valid`: `valid` is timing-critical.
                m.d.comb += [self.idle.eq(~self.i.valid), self.i.ready.eq(buffers.o.valid)]
                with m.If(self.i.valid & buffers.o.valid):
                    self._begin(m, buffers, overrun)
                    m.next = "FILL"
                with m.Elif(self.timeout):
                    m.next = "DROP"
                m.d.comb += blocked.eq(self.i.valid & ~buffers.o.valid)
            with m.State("FILL"):
                m.d.comb += self.fills.eq(1)
                self._fill(m, completions, overrun)
            with m.State("DROP"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid & (part.kind == PartKind.END)):
                    m.next = "WAIT"
        return m

    def _begin(self, m, buffers, overrun):
        """A packet begins, at the start of the next buffer."""
        progress = self.progress
        m.d.comb += buffers.o.ready.eq(1)
        m.d.sync += [
            progress.busy.eq(1),
            progress.start.eq(buffers.o.payload.pointer),
            progress.pointer.eq(buffers.o.payload.pointer),
            progress.limit.eq(buffers.o.payload.limit),
            progress.checked.eq(0),
            overrun.eq(0),
        ]

    def _fill(self, m, completions, overrun):
        """State FILL: takes the next part of the packet."""
        part = self.i.payload
        # One word may wait for its slot; the next is taken in the slot that serves it, so
        # every odd slot can write.
        settled = ~self.lbus.request
        with m.Switch(part.kind):
            with m.Case(PartKind.WORD):
                m.d.comb += self.i.ready.eq(settled | self.lbus.grant)
                with m.If(self.i.valid & self.i.ready):
                    self._take_word(m, overrun)
            with m.Case(PartKind.CHECKED):
                m.d.comb += self.i.ready.eq(settled)
                with m.If(self.i.valid & settled):
                    m.d.sync += self.progress.checked.eq(1)
            with m.Case(PartKind.END):
                self._finish(m, settled, completions)

    def _finish(self, m, settled, completions):
        """The packet ends, once its last word is written and its completion has room."""
        m.d.comb += [
            self.i.ready.eq(settled & completions.i.ready),
            self.finished.eq(self.i.valid & self.i.ready),
            completions.i.valid.eq(self.finished),
        ]
        with m.If(self.finished):
            m.d.sync += self.progress.busy.eq(0)
            m.next = "WAIT"

    def _take_word(self, m, overrun):
        """Offers the word to the LBUS if there is room for it; `pointer` may advance in this slot."""
        progress = self.progress
        after = Signal(END_BITS)
        m.d.comb += after.eq(progress.pointer + 4)
        with m.If(progress.limit == progress.pointer):
            m.d.sync += overrun.eq(1)
        with m.Elif(self.lbus.grant & (progress.limit == after)):
            m.d.sync += overrun.eq(1)
        with m.Else():
            m.d.sync += [self.lbus.request.eq(1), self.lbus.wdata.eq(self.i.payload.data)]

    def _verdict(self, part, overrun, checked):
        flags = {
            Verdict.VALID: 1,
            Verdict.CRC: part.bad_crc,
            Verdict.OVERRUN: overrun,
            Verdict.TRUNCATED: part.truncated,
            Verdict.CHECKED: checked,
        }
        value = 0
        for flag, condition in flags.items():
            value |= condition << (flag.value.bit_length() - 1)
        return value

    def _blocked(self, m):
        """A signal for "a packet waits for a buffer"; after `blocked_slots` slots of it, `timeout`
        or `reset`."""
        blocked = Signal()
        if self.config.blocked_slots:
            waited = Signal(range(self.config.blocked_slots + 1))
            m.d.sync += waited.eq(0)
            late = waited == self.config.blocked_slots
            with m.If(blocked & ~late):
                m.d.sync += waited.eq(waited + 1)
            drop = self.config.blocked_action is BlockedAction.DROP
            m.d.comb += (self.timeout if drop else self.reset).eq(blocked & late)
        return blocked
