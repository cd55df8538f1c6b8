"""The first words of the packet that is served, and checks of them."""

from amaranth import Cat, Mux, Signal

from ..fields import layout
from .fifo import RECORD_HEADER
from .groups import VALUE_BYTES
from .lookup_port import LENGTH_BITS
from .messages import HEADER_BYTES
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

ATOMIC_WORDS = REQUEST_WORDS + 2  # of 32 bits
WIDE_WORDS = REQUEST_WORDS + 4  # of 64 bits
COLLECT_WORDS = REQUEST_WORDS + VALUE_BYTES // 4
MOST_WORDS = WIDE_WORDS  # that are taken
RECORD_AT = REQUEST_WORDS - RECORD_HEADER // 4  # a record is the packet from its `SizeWord` on
assert RECORD_AT == REPLY_WORDS  # so that one mux has both


class PacketHeader:
    """Registers for the first words of a packet. A packet that is shorter leaves the last ones unused."""

    def __init__(self):
        self.first = Signal(layout(RequestWord))
        self.target = Signal(layout(TargetWord))
        self.size = Signal(layout(SizeWord))
        self.offset = Signal(32)
        self.operand = Signal(64)
        self.comparand = Signal(64)
        self.appends = Signal()  # it is one for a FIFO; valid in the slot after `first`
        self.sends = Signal()  # it is a SEND; valid in the slot after `first`
        self.answers_open = Signal()  # of a reply: the request was open in the slot before
        self.answer_words = Signal(LENGTH_BITS - 2 + 1)  # with which it is to be answered
        self.answer = layout(ReplyWord)(self.target.as_value())

    def take(self, m, index, word):
        """Word `index` of the packet."""
        low, high = slice(0, 32), slice(32, 64)
        operands = (self.operand[low], self.comparand[low], self.operand[high], self.comparand[high])
        kept = (self.first, self.target, self.size, self.offset, *operands)
        with m.Switch(index):
            for n, register in enumerate(kept):
                with m.Case(n):
                    m.d.sync += register.eq(word)

    def register_appends(self, m, config):
        m.d.sync += self.appends.eq(config.appends(self.first.op))
        if config.match_cells:
            m.d.sync += self.sends.eq(self.first.op == Op.SEND)

    def is_reply(self):
        return (self.first.op == Op.ACK) | (self.first.op == Op.DATA)

    @property
    def wide(self):
        """Return 1 if the packet, an ATOMIC, changes 64 bits."""
        return self.size.length == WIDE_BYTES

    @property
    def value(self):
        """The old value, in a reply to an ATOMIC."""
        return Cat(self.size.as_value(), self.offset)

    @property
    def loaded(self):
        """The word that was read, in a reply to a load."""
        return self.size.as_value()

    def accesses(self, config, entry):
        """Return 1 if the packet reads or writes host memory. `entry` is the request that it answers,
        if it is a reply."""
        data = (self.first.op == Op.DATA) & (entry.op == Op.READ)
        if config.streams:
            data &= ~entry.stored  # what a load has read goes to the host
        return (self.first.op == Op.WRITE) | (self.first.op == Op.ATOMIC) | self.appends | data

    def register_answer(self, m, is_open, entry):
        """Register whether the request is open, and the words of its answer. They are valid in the slot
        after `target`: for a packet with more words than an ACK, before `well_formed`."""
        align = Mux(entry.op == Op.READ, entry.local_offset[:2], 0)
        m.d.sync += [self.answers_open.eq(is_open), self.answer_words.eq((entry.length + align + 3) >> 2)]

    def well_formed(self, config, words, is_open, entry):
        """The packet has the words that its op and length call for, and comes from a NIC that there
        may be. `entry`, if `is_open`, is the request that it answers."""
        length = self.size.length
        sized = (length != 0) & (length <= config.payload)
        data_words = (length + self.offset[:2] + 3) >> 2
        with_data = sized & (words == REQUEST_WORDS + data_words)
        answers = self.answers_open & (words == REPLY_WORDS + self.answer_words)
        empty = (entry.length == 0) & ((entry.op != Op.READ) | (entry.local_offset[:2] == 0))
        atomic = ((length == ATOMIC_BYTES) & (words == ATOMIC_WORDS)) | (self.wide & (words == WIDE_WORDS))
        by_op = {
            Op.NOP: words == REQUEST_WORDS,
            Op.WRITE: with_data,
            Op.APPEND: with_data,
            Op.RETRY: with_data,
            Op.READ: sized & (words == REQUEST_WORDS),
            Op.ATOMIC: atomic & (self.size.atomic <= Atomic.XOR),
            Op.ACK: words == REPLY_WORDS,
            Op.DATA: ~is_open | Mux(words == REPLY_WORDS, empty, answers),
        }
        if config.quiet:
            by_op[Op.QUIET] = with_data
        if config.match_cells:
            by_op[Op.SEND] = with_data & (length >= HEADER_BYTES)
        if config.groups:
            by_op[Op.COLLECT] = (length == VALUE_BYTES) & (words == COLLECT_WORDS)
        fits = Cat((self.first.op == op) & condition for op, condition in by_op.items()).any()
        return fits & (self.first.mark == MARK) & (self.first.source < config.peers)
