"""Makes packets: of requests, with data from host memory, and of replies."""

from amaranth import Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..host_bus.ports import BurstPort
from ..host_dma.aligner import Aligner
from ..host_dma.cutter import BurstCutter
from ..link.flit import Flit, Kind
from .entry import Entry
from .lookup import LENGTH_BITS, LookupPort, Need
from .packets import WIDE_BYTES, Op, Status, appends
from .parameters import RemoteParameters
from .parts import Part, follow, values
from .reply import Reply
from .sequencer import INDEX_BITS, EntryRead
from .tables import APERTURE_WORD_BITS, COMPARAND, COMPARAND_HIGH, EXPOSURES, OPERAND, OPERAND_HIGH
from .window import CommandRead

FLITS_BESIDE_DATA = 16  # of a packet: HEAD, TAIL, at most 4 + 4 words; and as much for the NOP or ACK that may follow
EXPOSURE_BITS = (EXPOSURES - 1).bit_length()
STORED_BITS = APERTURE_WORD_BITS  # of the place of a word in a page: its lower ones say where in the stream buffers


class PacketSender(wiring.Component):
    """Sends what waits, replies and requests in turn.

    A packet is begun only when all of it has room in the queue to the wire. So a burst of the host
    bus never waits for the wire, and what arrives can always be written to host memory.

    A request whose memory cannot be read goes out as a NOP, which keeps the peer's sequence whole;
    a reply's READ that cannot be carried out is answered by an ACK with the reason. If the host
    refuses a word in the midst of a packet, the packet's CRC is spoiled and the NOP or ACK follows.

    Members: `replies`; `send`, `sent`, `void`, `void_status`, `voided` as `Sequencer` has them;
    `words`, of commands; `stored_word`, word `stored` of the stream buffers, in the next slot;
    `lookup`; `bus`; `o`; `number`, this NIC's; `enable`; `route_write` of
    `route` for `route_peer`; events of a slot: `requested`, `replied`, `refused` (a reply that
    became a refusal), `failed` (a request that became a NOP); `busy` while a packet is made;
    `idle`.
    """

    def __init__(self, nic: NicConfig, config: RemoteParameters):
        self.nic = nic
        self.config = config
        super().__init__(
            {
                "replies": In(stream.Signature(Reply)),
                "send": In(stream.Signature(INDEX_BITS)),
                "sent": Out(EntryRead()),
                "void": Out(1),
                "void_status": Out(Status),
                "voided": In(1),
                "words": Out(CommandRead()),
                "stored": Out(STORED_BITS),
                "stored_word": In(32),
                "lookup": Out(LookupPort()),
                "bus": Out(BurstPort()),
                "o": Out(stream.Signature(Flit)),
                "number": In(8),
                "enable": In(1),
                "route_write": In(1),
                "route_peer": In(8),
                "route": In(32),
                "requested": Out(1),
                "replied": Out(1),
                "refused": Out(1),
                "failed": Out(1),
                "busy": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        largest = self.config.payload // 4 + 1 + FLITS_BESIDE_DATA
        depth = 2 * largest
        m.submodules.flits = flits = SyncFIFOBuffered(width=Flit.as_shape().size, depth=depth)
        m.submodules.routes = routes = memory.Memory(shape=32, depth=max(self.config.peers, 2), init=[])
        m.submodules.aligner = aligner = Aligner()
        m.submodules.cutter = cutter = BurstCutter(self.nic)
        wiring.connect(m, cutter.o, wiring.flipped(self.bus.burst))
        self._routes(m, routes)

        entry, reply = Signal(Entry), Signal(Reply)
        index = Signal(INDEX_BITS)
        replies = Signal()  # this packet is a reply
        last_was_reply = Signal()
        room = Signal()
        op, part = Signal(Op), Signal(Part)
        reads = Signal()  # its data come from host memory
        spoiled = Signal()
        stored_left = Signal(LENGTH_BITS - 2)  # words of a stream buffer
        address = Signal(32)
        m.d.sync += room.eq(flits.w_level <= depth - largest - 2)
        m.d.comb += [
            self.sent.index.eq(index),
            self.o.valid.eq(flits.r_rdy),
            self.o.payload.eq(flits.r_data),
            flits.r_en.eq(self.o.ready),
            self.words.buffer.eq(entry.buffer),
            self.void_status.eq(self.lookup.status),
        ]
        # HEAD may follow on TAKE at once, so the route is read before `entry` is there.
        route = self._route(m, routes, Mux(replies, reply.peer, self.sent.entry.peer))
        self._ask(m, entry, reply, replies)
        self._load(m, aligner, cutter, entry, reply, replies, address)
        out = Signal(Flit)
        m.d.comb += flits.w_data.eq(out)
        words = values(m, self.number, self.words.data, entry, reply, replies, op, index)
        after = Signal(Part)
        wide = Mux(replies, reply.length, entry.length) == WIDE_BYTES
        follow(m, after, part, replies, op, reads, wide)
        # A command's word stands on `words` in the slot after it was asked for.
        m.d.comb += self.words.field.eq(OPERAND)
        fields = ((Part.OPERAND, COMPARAND), (Part.COMPARAND, OPERAND_HIGH), (Part.OPERAND_HIGH, COMPARAND_HIGH))
        with m.Switch(part):
            for before, field in fields:
                with m.Case(before):
                    m.d.comb += self.words.field.eq(field)

        m.d.comb += self.busy.eq(1)
        with m.FSM():
            with m.State("IDLE"):
                takes_reply = Signal()
                m.d.comb += [
                    takes_reply.eq(self.replies.valid & ~(last_was_reply & self.send.valid)),
                    self.idle.eq(~self.replies.valid & ~self.send.valid & ~flits.r_rdy & (flits.w_level == 0)),
                    self.replies.ready.eq(room & self.enable & takes_reply),
                    self.send.ready.eq(room & self.enable & ~takes_reply),
                    self.sent.index.eq(self.send.payload),
                ]
                m.d.sync += [reply.eq(self.replies.payload), replies.eq(takes_reply), part.eq(Part.HEAD), spoiled.eq(0)]
                with m.If(room & self.enable & (self.replies.valid | self.send.valid)):
                    m.d.sync += last_was_reply.eq(takes_reply)
                    with m.If(~takes_reply):
                        m.d.sync += index.eq(self.send.payload)
                    m.next = "TAKE"
                m.d.comb += self.busy.eq(0)
            with m.State("TAKE"):
                sends = (self.sent.entry.op == Op.WRITE) | appends(self.sent.entry.op)
                fetches = Signal()
                m.d.comb += fetches.eq(Mux(replies, reply.reads, sends & ~self.voided))
                m.d.sync += [entry.eq(self.sent.entry), reads.eq(fetches)]
                m.d.sync += [
                    self.stored.eq(self.sent.entry.offset >> 2),
                    stored_left.eq(self.sent.entry.length >> 2),
                ]
                with m.If(replies):
                    m.d.sync += op.eq(Mux(reply.reads | reply.returns, Op.DATA, Op.ACK))
                with m.Else():
                    m.d.sync += op.eq(Mux(self.voided, Op.NOP, self.sent.entry.op))
                m.next = "WORDS"
                with m.If(fetches & (replies | ~self.sent.entry.stored)):
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += self.lookup.start.eq(1)
                m.next = "LOOKUP"
            with m.State("LOOKUP"):
                m.d.sync += address.eq(self.lookup.address)
                with m.If(self.lookup.done):
                    m.next = "WORDS"
                    with m.If(self.lookup.status == Status.OK):
                        m.next = "BURST"
                    with m.Else():
                        self._fail(m, reply, replies, op, reads, self.lookup.status)
            with m.State("BURST"):
                m.d.comb += [aligner.load.eq(1), cutter.load.eq(1)]
                m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += flits.w_en.eq(1)
                with m.Switch(part):
                    with m.Case(Part.HEAD):
                        m.d.comb += [out.kind.eq(Kind.HEAD), out.data.eq(route)]
                    for which, value in words.items():
                        with m.Case(which):
                            m.d.comb += [out.kind.eq(Kind.DATA), out.data.eq(value)]
                    with m.Case(Part.TAIL):
                        m.d.comb += [out.kind.eq(Kind.TAIL), out.data.eq(spoiled)]
                m.d.sync += part.eq(after)
                with m.If(part == Part.TAIL):
                    m.d.comb += [
                        self.requested.eq(~replies),
                        self.replied.eq(replies),
                    ]
                    m.next = "IDLE"
                    with m.If(spoiled):
                        m.d.sync += [part.eq(Part.HEAD), spoiled.eq(0)]
                        m.d.comb += self.void_status.eq(Status.BUS)
                        self._fail(m, reply, replies, op, reads, Status.BUS)
                        m.next = "WORDS"
                with m.Elif(after == Part.DATA):
                    m.next = "DATA"
                    if self.config.streams:
                        with m.If(~replies & entry.stored):
                            m.next = "STORED"
                            m.d.sync += self.stored.eq(self.stored + 1)
            if self.config.streams:
                with m.State("STORED"):
                    m.d.comb += [flits.w_en.eq(1), out.kind.eq(Kind.DATA), out.data.eq(self.stored_word)]
                    m.d.sync += [self.stored.eq(self.stored + 1), stored_left.eq(stored_left - 1)]
                    with m.If(stored_left == 1):
                        m.d.sync += part.eq(Part.TAIL)
                        m.next = "WORDS"
            with m.State("DATA"):
                word = aligner.o
                m.d.comb += [
                    word.ready.eq(1),
                    flits.w_en.eq(word.valid),
                    out.kind.eq(Kind.DATA),
                    out.data.eq(word.payload.data),
                ]
                with m.If(word.valid):
                    m.d.sync += spoiled.eq(spoiled | word.payload.error)
                with m.If(~aligner.busy):
                    m.d.sync += part.eq(Part.TAIL)
                    m.next = "WORDS"
        return m

    def _routes(self, m, routes):
        write = routes.write_port()
        m.d.comb += [
            write.addr.eq(self.route_peer),
            write.data.eq(self.route),
            write.en.eq(self.route_write),
        ]

    def _route(self, m, routes, peer):
        read = routes.read_port()
        m.d.comb += read.addr.eq(peer)
        return read.data

    def _ask(self, m, entry, reply, replies):
        lookup = self.lookup
        with m.If(replies):
            m.d.comb += [
                lookup.owner.eq(reply.exposure >> EXPOSURE_BITS),
                lookup.exposure.eq(reply.exposure),
                lookup.need.eq(Need.READ),
                lookup.key.eq(reply.key),
                lookup.offset.eq(reply.offset),
                lookup.length.eq(reply.length),
            ]
        with m.Else():
            m.d.comb += [
                lookup.owner.eq(entry.buffer >> 3),
                lookup.exposure.eq(entry.local),
                lookup.need.eq(Need.OWN),
                lookup.offset.eq(entry.local_offset),
                lookup.length.eq(entry.length),
            ]

    def _load(self, m, aligner, cutter, entry, reply, replies, address):
        length = Mux(replies, reply.length, entry.length)
        m.d.comb += [
            aligner.source.eq(address[:2]),
            aligner.target.eq(Mux(replies, reply.align, entry.offset[:2])),
            aligner.length.eq(length),
            cutter.addr.eq(address),
            cutter.length.eq(length),
            aligner.i.valid.eq(self.bus.read.valid),
            aligner.i.payload.eq(self.bus.read.payload),
            self.bus.read.ready.eq(aligner.i.ready),
        ]

    def _fail(self, m, reply, replies, op, reads, status):
        """What cannot be read is not sent: a NOP or an ACK goes in its place."""
        m.d.sync += [op.eq(Mux(replies, Op.ACK, Op.NOP)), reads.eq(0)]
        m.d.sync += [reply.status.eq(status), reply.reads.eq(0)]
        m.d.comb += [self.void.eq(~replies), self.failed.eq(~replies), self.refused.eq(replies)]
