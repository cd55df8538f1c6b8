"""The first words of a packet, and the check of its form."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from .access_work import FIFO_LEAD
from .fifo import RECORD_HEADER
from .groups import VALUE_BYTES
from .messages import HEADER_BYTES
from .packet_buffers import packet_members
from .packets import (
    ATOMIC_BYTES,
    MARK,
    REPLY_WORDS,
    REQUEST_WORDS,
    WIDE_BYTES,
    Atomic,
    Op,
    ReplyWord,
    RequestWord,
    SizeWord,
    TargetWord,
)
from .parameters import RemoteParameters

ATOMIC_WORDS = REQUEST_WORDS + 2  # of 32 bits
WIDE_WORDS = REQUEST_WORDS + 4  # of 64 bits
COLLECT_WORDS = REQUEST_WORDS + VALUE_BYTES // 4
MOST_WORDS = WIDE_WORDS  # that are taken
RECORD_AT = REQUEST_WORDS - RECORD_HEADER // 4  # a record is the packet from its `SizeWord` on
assert RECORD_AT == REPLY_WORDS  # so that one mux has both


class Packet(data.Struct):
    """The first words of a packet of `words` words. One that is shorter leaves the last ones unused. It is `sound` if
    it has the words that its op and length call for, and comes from a NIC that there may be. Whether the data of a
    reply are as many as were asked for is not known here."""

    first: layout(RequestWord)
    target: layout(TargetWord)
    size: layout(SizeWord)
    offset: 32
    operand: 64
    comparand: 64
    words: 10
    appends: 1
    sends: 1
    sound: 1

    @property
    def answer(self):
        """The second word of a reply."""
        return layout(ReplyWord)(self.target.as_value())

    def is_reply(self):
        return (self.first.op == Op.ACK) | (self.first.op == Op.DATA)

    @property
    def value(self):
        """The old value, in a reply to an ATOMIC."""
        return Cat(self.size.as_value(), self.offset)

    @property
    def loaded(self):
        """The word that was read, in a reply to a load."""
        return self.size.as_value()


class Parse(wiring.Component):
    """Takes the first words of the oldest packet, as they arrive, and checks its form.

    Members
    -------
    full, words, arriving, come, index, word : of `PacketBuffers`
    begins : ``In(1)``, while it `rests`: words are taken from the next slot on
    yields : ``In(1)``, others wait. A packet that is not all there gives way to them.
    holds : ``In(1)``, no packet is offered in the next slot
    rests : ``Out(1)``, no packet is taken or offered
    o : ``Out(stream)`` of `Packet`. It stays as it is until it is taken, which is when it has been served, so nothing
        has a copy of it. Each of its words stands from the slot on after it has come; the fourth of a sound one that
        `appends`, `FIFO_LEAD` slots before that is offered.
    data, at : ``Out(stream)``, always valid: the words from the first one on that may be written to memory, or from
        word `word_at` on after it `rewinds`; `at` is the number of the one that is offered
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        members = packet_members(config)
        del members["release"]
        super().__init__(
            {
                **{name: member.flip() for name, member in members.items()},
                "begins": In(1),
                "yields": In(1),
                "holds": In(1),
                "rests": Out(1),
                "o": Out(stream.Signature(Packet)),
                "data": Out(stream.Signature(32, always_valid=True)),
                "at": Out(members["index"].shape),
                "rewinds": In(1),
                "word_at": In(range(REQUEST_WORDS + HEADER_BYTES // 4 + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        self._packet = packet = Signal(Packet)
        at, arrived = self.at, Signal.like(self.index)
        settled = self._settle(m, arrived)
        m.d.sync += [arrived.eq(self.index), packet.appends.eq(self.config.appends(packet.first.op))]
        if self.config.match_cells:
            m.d.sync += packet.sends.eq(packet.first.op == Op.SEND)
        m.d.comb += [
            self.o.payload.eq(packet),
            self.o.payload.words.eq(self.words),
            self.o.payload.sound.eq(self._is_sound()),
            self.data.payload.eq(self.word),
            self.index.eq(at + self.data.ready),  # word `index` stands on `word` in the next slot
        ]
        with m.If(self.data.ready):
            m.d.sync += at.eq(at + 1)
        with m.If(self.rewinds):
            m.d.sync += at.eq(self.word_at)
        with m.FSM():
            with m.State("REST"):
                m.d.comb += self.rests.eq(1)
                m.d.sync += at.eq(0)
                with m.If(self.begins):
                    m.next = "TAKE"
            with m.State("TAKE"):
                self._take(m, arrived)
                here = self.full | (at < self.come)  # the word that is asked for
                taken = (at >= self.words) | (at == MOST_WORDS)
                with m.If(here & (at != MOST_WORDS)):
                    m.d.sync += at.eq(at + 1)
                with m.If(self.full):
                    with m.If(taken & (settled | ~packet.appends) & ~self.holds):
                        m.d.sync += at.eq(Mux(packet.is_reply() | packet.appends, REPLY_WORDS, REQUEST_WORDS))
                        m.next = "OFFER"
                with m.Elif(self.yields | ~self.arriving | (self.come < at)):
                    m.next = "REST"
            with m.State("OFFER"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "REST"
        return m

    def _settle(self, m, arrived):
        """Return 1 if the answers for the FIFO of a packet that appends are valid in the next slot: its offset was
        taken `FIFO_LEAD` slots ago, or before."""
        offset_taken, before = (arrived >= REQUEST_WORDS) & (arrived <= MOST_WORDS), Signal(FIFO_LEAD - 1)
        m.d.sync += before.eq(Mux(offset_taken, Cat(1, before[:-1]), 0))
        return offset_taken & before.all()

    def _take(self, m, arrived):
        """Word `arrived` of the packet."""
        packet, low, high = self._packet, slice(0, 32), slice(32, 64)
        operands = (packet.operand[low], packet.comparand[low], packet.operand[high], packet.comparand[high])
        kept = (packet.first, packet.target, packet.size, packet.offset, *operands)
        with m.Switch(arrived):
            for n, register in enumerate(kept):
                with m.Case(n):
                    m.d.sync += register.eq(self.word)

    def _is_sound(self):
        packet, config, words = self._packet, self.config, self.words
        length = packet.size.length
        sized = (length != 0) & (length <= config.payload)
        data_words = (length + packet.offset[:2] + 3) >> 2
        with_data = sized & (words == REQUEST_WORDS + data_words)
        atomic = ((length == ATOMIC_BYTES) & (words == ATOMIC_WORDS)) | ((length == WIDE_BYTES) & (words == WIDE_WORDS))
        by_op = {
            Op.NOP: words == REQUEST_WORDS,
            Op.WRITE: with_data,
            Op.APPEND: with_data,
            Op.RETRY: with_data,
            Op.READ: sized & (words == REQUEST_WORDS),
            Op.ATOMIC: atomic & (packet.size.atomic <= Atomic.XOR),
            Op.ACK: words == REPLY_WORDS,
            Op.DATA: 1,
        }
        if config.quiet:
            by_op[Op.QUIET] = with_data
        if config.match_cells:
            by_op[Op.SEND] = with_data & (length >= HEADER_BYTES)
        if config.groups:
            by_op[Op.COLLECT] = (length == VALUE_BYTES) & (words == COLLECT_WORDS)
        fits = Cat((packet.first.op == op) & condition for op, condition in by_op.items()).any()
        return fits & (packet.first.mark == MARK) & (packet.first.source < config.peers)
