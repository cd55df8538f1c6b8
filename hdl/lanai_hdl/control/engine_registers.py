"""Between registers and engines: what is written becomes a checked descriptor in a queue; what is done shows.

What the processor wrote is known here in the slot after its access (`RegisterFile`), and so are refusals and overflows.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..host_dma.engine import HostDescriptor
from ..machine import HostDmaStart, SendStart, Status
from ..receive_dma.engine import Completion, RecvBuffer, RecvProgress
from ..send_dma.engine import LENGTH_BITS, SendDescriptor


def status(free, **flags):
    """A status register's value: free entries, and the flags of `machine.Status` by their names in lower case."""
    value = Cat(free, Const(0, 32 - len(free)))
    for name, flag in flags.items():
        value = value | (flag << (Status[name.upper()].value.bit_length() - 1))
    return value


def leaves_sram(config, start, length):
    """Whether `length` bytes from `start`, both 32 bits, reach beyond the SRAM."""
    return (start + length) > config.sram_size


def bit(flags, flag):
    return flags[flag.value.bit_length() - 1]


class HostDmaDoor(wiring.Component):
    """HDMA_*: the registers' values and `start` with `flags` make a descriptor; `overflow` if the queue is full.

    From the engine's `free`, `still`, `done`, `error` come the values of HDMA_STATUS and HDMA_DONE.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__(
            {
                "host": In(32),
                "local": In(32),
                "length": In(32),
                "start": In(1),
                "flags": In(32),
                "post": Out(stream.Signature(HostDescriptor)),
                "overflow": Out(1),
                "free": In(range(config.hdma_queue + 1)),
                "still": In(1),
                "done": In(1),
                "error": In(1),
                "status": Out(32),
                "completed": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        to_sram = bit(self.flags, HostDmaStart.TO_SRAM)
        to_host = bit(self.flags, HostDmaStart.TO_HOST)
        failed = Signal()
        outside = Signal()  # long, but of registers that stood still in the slot before
        end = Signal(33)
        m.d.comb += [
            end.eq(self.host + self.length),
            # Past the last address of the host bus a transfer would go on at the first.
            outside.eq(leaves_sram(self.config, self.local, self.length) | (end[32] & end[:32].any())),
            self.post.valid.eq(self.start),
            self.post.payload.host.eq(self.host),
            self.post.payload.local.eq(self.local),
            # What is longer than the field is refused, but feeds its length: as much as the field holds, more than any send can take.
            self.post.payload.length.eq(Mux(self.length[LENGTH_BITS:].any(), (1 << LENGTH_BITS) - 1, self.length)),
            self.post.payload.to_host.eq(to_host & ~to_sram),
            self.post.payload.feed.eq(bit(self.flags, HostDmaStart.FEED)),
            self.post.payload.follow.eq(bit(self.flags, HostDmaStart.FOLLOW)),
            self.post.payload.refused.eq(outside | (to_sram == to_host)),
            self.overflow.eq(self.start & ~self.post.ready),
            self.status.eq(status(self.free, busy=~self.still, error=failed)),
        ]
        with m.If(self.done):
            m.d.sync += [failed.eq(self.error), self.completed.eq(self.completed + 1)]
        return m


class SendDoor(wiring.Component):
    """SEND_*: as `HostDmaDoor`. `refused` in the slot in which a descriptor that leaves the SRAM is queued. `up` is
    the link's carrier."""

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__(
            {
                "route": In(32),
                "pointer": In(32),
                "length": In(32),
                "start": In(1),
                "flags": In(32),
                "post": Out(stream.Signature(SendDescriptor)),
                "overflow": Out(1),
                "refused": Out(1),
                "free": In(range(config.send_queue + 1)),
                "still": In(1),
                "done": In(1),
                "up": In(1),
                "status": Out(32),
                "completed": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        descriptor = self.post.payload
        m.d.comb += [
            self.post.valid.eq(self.start),
            descriptor.route.eq(self.route),
            descriptor.pointer.eq(self.pointer & ~3),
            descriptor.length.eq(self.length),
            descriptor.first.eq(bit(self.flags, SendStart.FIRST)),
            descriptor.last.eq(bit(self.flags, SendStart.LAST)),
            descriptor.chase.eq(bit(self.flags, SendStart.CHASE)),
            descriptor.check.eq(bit(self.flags, SendStart.CHECK)),
            descriptor.refused.eq(leaves_sram(self.config, self.pointer, self.length)),
            self.overflow.eq(self.start & ~self.post.ready),
            self.refused.eq(self.start & self.post.ready & descriptor.refused),
            self.status.eq(status(self.free, busy=~self.still, link_up=self.up)),
        ]
        with m.If(self.done):
            m.d.sync += self.completed.eq(self.completed + 1)
        return m


class RecvDoor(wiring.Component):
    """RECV_*: `pointer`, and `post_limit` with `limit`, post the buffer or refuse it; `limit_value` is RECV_LIMIT's. In the slot before, that of the
    access, `limit` stood on `coming`, and `pointer` as it is.

    From the engine's `free`, `progress`, `finished`, and `up`, come `status`, `count`, `completed`, and the level `progressed`, RECV_PROGRESS.
    `finished_packets` is the engine's completion queue: its oldest entry shows as `length`, `buffer`, `verdict`, which `pop` takes away.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__(
            {
                "pointer": In(32),
                "limit": In(32),
                "coming": In(32),
                "post_limit": In(1),
                "limit_value": Out(32),
                "post": Out(stream.Signature(RecvBuffer)),
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
                "finished_packets": In(stream.Signature(Completion)),
                "pop": In(1),
                "length": Out(32),
                "buffer": Out(32),
                "verdict": Out(32),
                "arrived": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        wrong = Signal()  # found out before anybody knows that there is an access, for a packet may wait for the buffer
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
            self.post.valid.eq(self.post_limit & ~wrong),
            self.post.payload.pointer.eq(self.pointer),
            self.post.payload.limit.eq(self.limit),
            self.overflow.eq(self.post.valid & ~self.post.ready),
            self.refused.eq(self.post_limit & wrong),
        ]
        with m.If(self.post_limit):
            m.d.sync += self.limit_value.eq(self.limit)
        self._show(m)
        return m

    def _show(self, m):
        progress, oldest = self.progress, self.finished_packets
        m.d.comb += [
            self.status.eq(
                status(self.free, busy=progress.busy, checked=progress.busy & progress.checked, link_up=self.up)
            ),
            self.count.eq(Mux(progress.busy, progress.pointer - progress.start, 0)),
            self.progressed.eq(progress.busy & self.watermark.any() & (self.count >= self.watermark)),
            self.arrived.eq(oldest.valid),
            oldest.ready.eq(self.pop),
        ]
        with m.If(oldest.valid):
            m.d.comb += [
                self.length.eq(oldest.payload.length),
                self.buffer.eq(oldest.payload.buffer),
                self.verdict.eq(oldest.payload.verdict),
            ]
        with m.If(self.finished):
            m.d.sync += self.completed.eq(self.completed + 1)
