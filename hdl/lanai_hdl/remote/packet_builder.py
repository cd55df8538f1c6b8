"""The packet that the sender builds: a request of the sequencer or a reply of the server."""

from amaranth import Mux, Signal

from .entries import reply_shape, request_shape
from .links import SessionName
from .lookup_port import LENGTH_BITS, Need
from .packet_parts import Part, follow, values
from .packets import WIDE_BYTES, Op
from .sequencer import INDEX_BITS
from .tables import EXPOSURES

EXPOSURE_BITS = (EXPOSURES - 1).bit_length()


class PacketBuilder:
    """Registers of `PacketSender`, one object for each elaboration.

    `replies`, the packet is `reply`; else it is the request `entry`, number `index`. `op` and
    `part`, the kind of the packet and of the word to come. `reads`, its data come from host memory;
    `source` are the lower bits of their address. `stored_left` words come from a stream buffer.
    `link`, what the request names. `spoiled`, the host refused a word. `last_was_reply`, for whose turn
    it is.
    """

    def __init__(self, config):
        self.config = config
        self.entry = Signal(request_shape(config))
        self.reply = Signal(reply_shape(config))
        self.index = Signal(INDEX_BITS)
        self.replies = Signal()
        self.last_was_reply = Signal()
        self.op = Signal(Op)
        self.part = Signal(Part)
        self.reads = Signal()
        self.spoiled = Signal()
        self.stored_left = Signal(LENGTH_BITS - 2)
        self.source = Signal(2)
        self.link = Signal(SessionName)

    def values(self, m, number, own_boot, word):
        """The value of each part, by part; `number` and `own_boot` are the NIC's, `word` is a command's."""
        vouches = self.reply.vouches if self.config.quiet else 0
        if self.config.groups:
            lower = self.part == Part.OPERAND
            word = Mux(self._collects, self.entry.value.word_select(~lower, 32), word)
        return values(
            m, number, own_boot, word, self.link, self.entry, self.reply, self.replies, self.op, self.index, vouches
        )  # fmt: skip

    @property
    def _collects(self):
        return self.op == Op.COLLECT

    def take_link(self, m, link):
        """A packet has one `link` from its first word to its last, though that may change meanwhile."""
        with m.If(self.part == Part.HEAD):
            m.d.sync += self.link.eq(link)

    def next_part(self, m):
        """The part after this one."""
        after = Signal(Part)
        wide = Mux(self.replies, self.reply.length, self.entry.length) == WIDE_BYTES
        words_follow = self.op == Op.ATOMIC
        if self.config.groups:
            wide &= ~self._collects
            words_follow |= self._collects
        follow(m, after, self.part, self.replies, self.op, words_follow, self.reads, wide)
        return after

    def ask(self, m, lookup):
        """Drive `lookup` with the source of the packet's data: of a reply, or of a request."""
        entry, reply = self.entry, self.reply
        with m.If(self.replies):
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

    def load(self, m, aligner, read):
        """Make the words that are read the packet's."""
        length = Mux(self.replies, self.reply.length, self.entry.length)
        m.d.comb += [
            aligner.source.eq(self.source),
            aligner.target.eq(Mux(self.replies, self.reply.align, self.entry.offset[:2])),
            aligner.length.eq(length),
            aligner.i.valid.eq(read.valid),
            aligner.i.payload.eq(read.payload),
            read.ready.eq(aligner.i.ready),
        ]
