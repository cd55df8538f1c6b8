"""Makes packets: of requests, with data from host memory, and of replies."""

from amaranth import Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..host_bus.ports import BurstPort
from ..host_dma.aligner import Aligner
from ..link.flit import Flit, Kind
from ..queue import BlockRamQueue
from .bounded_reads import BoundedReads
from .entries import reply_shape
from .host_side import CommandRead
from .links import SessionName
from .lookup_port import LookupPort
from .packet_builder import PacketBuilder
from .packet_parts import Part
from .packets import BOOT_BITS, Op, Status
from .parameters import RemoteParameters
from .sequencer import INDEX_BITS, EntryRead
from .tables import APERTURE_WORD_BITS, COMPARAND, COMPARAND_HIGH, OPERAND, OPERAND_HIGH

FLITS_BESIDE_DATA = 16  # of a packet: HEAD, TAIL, at most 4 + 4 words; and as much for the NOP or ACK that may follow
STORED_BITS = APERTURE_WORD_BITS  # of the place of a word in a page: its lower ones say where in the stream buffers


class PacketSender(wiring.Component):
    """Sends what waits, replies and requests in turn.

    A packet is begun only when all of it has space in the queue to the wire. So a burst of the host
    bus never waits for the wire, and what arrives can always be written to host memory.

    A request whose memory cannot be read goes out as a NOP, which keeps the peer's sequence whole;
    a reply's READ that cannot be carried out is answered by an ACK with the reason. If the host
    refuses a word in the midst of a packet, the packet's CRC is spoiled and the NOP or ACK follows.

    Members: `replies`; `send`, `sent`, `void`, `void_status`, `voided` as `Sequencer` has them;
    `words`, of commands; `stored_word`, word `stored` of the stream buffers, in the next slot;
    `lookup`; `bus`; `o`; `number` and `own_boot`, this NIC's; `link`, what a request to `link_peer`
    names; `enable`; `route_write` of `route` for `route_peer`; events of a slot: `requested`,
    `replied`, `refused` (a reply that became a refusal), `failed` (a request that became a NOP);
    `busy` while a packet is made, `requests` while that is a request; `idle`.
    """

    def __init__(self, nic: NicConfig, config: RemoteParameters):
        self.nic = nic
        self.config = config
        super().__init__(
            {
                "replies": In(stream.Signature(reply_shape(config))),
                "send": In(stream.Signature(INDEX_BITS)),
                "sent": Out(EntryRead(config, 1)),
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
                "own_boot": In(BOOT_BITS),
                "link_peer": Out(8),
                "link": In(SessionName),
                "enable": In(1),
                "route_write": In(1),
                "route_peer": In(8),
                "route": In(32),
                "requested": Out(1),
                "replied": Out(1),
                "refused": Out(1),
                "failed": Out(1),
                "busy": Out(1),
                "requests": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        largest = self.config.payload // 4 + 1 + FLITS_BESIDE_DATA
        depth = 2 * largest
        m.submodules.flits = flits = BlockRamQueue(Flit, depth)
        m.submodules.routes = routes = memory.Memory(shape=32, depth=max(self.config.peers, 2), init=[])
        m.submodules.aligner = aligner = Aligner()
        m.submodules.reads = self._reads = BoundedReads(self.nic)
        m.d.comb += [
            self._reads.allowed.eq(self.lookup.status == Status.OK),
            self._reads.address.eq(self.lookup.address),
            self._reads.length.eq(self.lookup.length),
        ]
        wiring.connect(m, self._reads.burst, wiring.flipped(self.bus.burst))
        wiring.connect(m, flits.o, wiring.flipped(self.o))
        self._routes(m, routes)

        builder = PacketBuilder(self.config)
        room = Signal()
        m.d.sync += room.eq(flits.level <= depth - largest - 2)
        m.d.comb += [
            self.sent.index.eq(builder.index),
            self.words.buffer.eq(builder.entry.buffer),
            self.void_status.eq(self.lookup.status),
            self.lookup.wanted.eq(1),
            self.link_peer.eq(builder.entry.peer),
            self.requests.eq(self.busy & ~builder.replies),
        ]
        builder.take_link(m, self.link)
        # HEAD may follow on TAKE at once, so the route is read before `entry` is there.
        route = self._route(m, routes, Mux(builder.replies, builder.reply.peer, self.sent.entry.peer))
        builder.ask(m, self.lookup)
        builder.load(m, aligner, self.bus.read)
        out = Signal(Flit)
        m.d.comb += flits.i.payload.eq(out)
        words = builder.values(m, self.number, self.own_boot, self.words.data)
        after = builder.next_part(m)
        self._ask_for_word(m, builder.part)

        m.d.comb += self.busy.eq(1)
        with m.FSM():
            with m.State("IDLE"):
                self._choose(m, builder, room, flits)
                m.d.comb += self.busy.eq(0)
            with m.State("TAKE"):
                self._take(m, builder)
            with m.State("ASK"):
                m.d.comb += self.lookup.start.eq(1)
                m.next = "LOOKUP"
            with m.State("LOOKUP"):
                self._await_address(m, builder)
            with m.State("BURST"):
                m.d.comb += [aligner.load.eq(1), self._reads.read.eq(1)]
                m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += flits.i.valid.eq(1)
                self._choose_word(m, builder, words, route, out)
                m.d.sync += builder.part.eq(after)
                self._go_on(m, builder, after)
            if self.config.streams:
                with m.State("STORED"):
                    self._send_stored(m, builder, flits, out)
            with m.State("DATA"):
                self._send_data(m, builder, aligner, flits, out)
        return m

    def _ask_for_word(self, m, part):
        """A command's word stands on `words` in the slot after it was asked for."""
        m.d.comb += self.words.field.eq(OPERAND)
        fields = ((Part.OPERAND, COMPARAND), (Part.COMPARAND, OPERAND_HIGH), (Part.OPERAND_HIGH, COMPARAND_HIGH))
        with m.Switch(part):
            for before, field in fields:
                with m.Case(before):
                    m.d.comb += self.words.field.eq(field)

    def _choose(self, m, builder, room, flits):
        """State IDLE: replies and requests take turns while both wait."""
        takes_reply = Signal()
        m.d.comb += [
            takes_reply.eq(self.replies.valid & ~(builder.last_was_reply & self.send.valid)),
            self.idle.eq(~self.replies.valid & ~self.send.valid & (flits.level == 0)),
            self.replies.ready.eq(room & self.enable & takes_reply),
            self.send.ready.eq(room & self.enable & ~takes_reply),
            self.sent.index.eq(self.send.payload),
        ]
        m.d.sync += [
            builder.reply.eq(self.replies.payload),
            builder.replies.eq(takes_reply),
            builder.part.eq(Part.HEAD),
            builder.spoiled.eq(0),
        ]
        with m.If(room & self.enable & (self.replies.valid | self.send.valid)):
            m.d.sync += builder.last_was_reply.eq(takes_reply)
            with m.If(~takes_reply):
                m.d.sync += builder.index.eq(self.send.payload)
            m.next = "TAKE"

    def _take(self, m, builder):
        """State TAKE: what the packet is, and whether its data must be fetched first."""
        entry, reply, replies = self.sent.entry, builder.reply, builder.replies
        sends = (entry.op == Op.WRITE) | self.config.appends(entry.op)
        fetches = Signal()
        m.d.comb += fetches.eq(Mux(replies, reply.reads, sends & ~self.voided))
        m.d.sync += [builder.entry.eq(entry), builder.reads.eq(fetches)]
        m.d.sync += [self.stored.eq(entry.offset >> 2), builder.stored_left.eq(entry.length >> 2)]
        with m.If(replies):
            m.d.sync += builder.op.eq(Mux(reply.reads | reply.returns, Op.DATA, Op.ACK))
        with m.Else():
            m.d.sync += builder.op.eq(Mux(self.voided, Op.NOP, entry.op))
        m.next = "WORDS"
        with m.If(fetches & (replies | ~entry.stored)):
            m.next = "ASK"

    def _await_address(self, m, builder):
        m.d.comb += self._reads.located.eq(self.lookup.done)
        m.d.sync += builder.source.eq(self.lookup.address[:2])
        with m.If(self.lookup.done):
            m.next = "WORDS"
            with m.If(self.lookup.status == Status.OK):
                m.next = "BURST"
            with m.Else():
                self._fail(m, builder, self.lookup.status)

    def _choose_word(self, m, builder, words, route, out):
        with m.Switch(builder.part):
            with m.Case(Part.HEAD):
                m.d.comb += [out.kind.eq(Kind.HEAD), out.data.eq(route)]
            for which, value in words.items():
                with m.Case(which):
                    m.d.comb += [out.kind.eq(Kind.DATA), out.data.eq(value)]
            with m.Case(Part.TAIL):
                m.d.comb += [out.kind.eq(Kind.TAIL), out.data.eq(builder.spoiled)]

    def _go_on(self, m, builder, after):
        """State WORDS: what follows on this word. A spoiled packet is followed by what says why."""
        with m.If(builder.part == Part.TAIL):
            m.d.comb += [self.requested.eq(~builder.replies), self.replied.eq(builder.replies)]
            m.next = "IDLE"
            with m.If(builder.spoiled):
                m.d.sync += [builder.part.eq(Part.HEAD), builder.spoiled.eq(0)]
                m.d.comb += self.void_status.eq(Status.BUS)
                self._fail(m, builder, Status.BUS)
                m.next = "WORDS"
        with m.Elif(after == Part.DATA):
            m.next = "DATA"
            if self.config.streams:
                with m.If(~builder.replies & builder.entry.stored):
                    m.next = "STORED"
                    m.d.sync += self.stored.eq(self.stored + 1)

    def _send_stored(self, m, builder, flits, out):
        """Words of a stream buffer, one a slot."""
        m.d.comb += [flits.i.valid.eq(1), out.kind.eq(Kind.DATA), out.data.eq(self.stored_word)]
        m.d.sync += [self.stored.eq(self.stored + 1), builder.stored_left.eq(builder.stored_left - 1)]
        with m.If(builder.stored_left == 1):
            m.d.sync += builder.part.eq(Part.TAIL)
            m.next = "WORDS"

    def _send_data(self, m, builder, aligner, flits, out):
        """Words from host memory, as they come."""
        word = aligner.o
        m.d.comb += [
            word.ready.eq(1),
            flits.i.valid.eq(word.valid),
            out.kind.eq(Kind.DATA),
            out.data.eq(word.payload.data),
        ]
        with m.If(word.valid):
            m.d.sync += builder.spoiled.eq(builder.spoiled | word.payload.error)
        with m.If(~aligner.busy):
            m.d.sync += builder.part.eq(Part.TAIL)
            m.next = "WORDS"

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

    def _fail(self, m, builder, status):
        """Send a NOP or an ACK in place of a packet whose data cannot be read."""
        m.d.sync += [builder.op.eq(Mux(builder.replies, Op.ACK, Op.NOP)), builder.reads.eq(0)]
        m.d.sync += [builder.reply.status.eq(status), builder.reply.reads.eq(0)]
        m.d.comb += [self.void.eq(~builder.replies), self.failed.eq(~builder.replies), self.refused.eq(builder.replies)]
