"""The packet that is served: its first words, and what can be told from them."""

from amaranth import Cat, Mux, Signal

from ..word_layout import layout
from .fifo import RECORD_HEADER
from .packets import (
    MARK,
    REPLY_WORDS,
    REQUEST_WORDS,
    Atomic,
    Op,
    ReplyWord,
    RequestWord,
    SizeWord,
    TargetWord,
    appends,
)

ATOMIC_WORDS = REQUEST_WORDS + 2
RECORD_AT = REQUEST_WORDS - RECORD_HEADER // 4  # a record is the packet from its `SizeWord` on
assert RECORD_AT == REPLY_WORDS  # so that one mux has both


class ServedPacket:
    """Registers for the first words of a packet, whatever it is. Those that it does not have are
    not used."""

    def __init__(self):
        self.first = Signal(layout(RequestWord))
        self.target = Signal(layout(TargetWord))
        self.size = Signal(layout(SizeWord))
        self.offset = Signal(32)
        self.operand = Signal(32)
        self.comparand = Signal(32)
        self.appends = Signal()  # it is one for a FIFO; valid in the slot after `first`
        self.answer = layout(ReplyWord)(self.target.as_value())

    def take(self, m, index, word):
        """Word `index` of the packet."""
        kept = (self.first, self.target, self.size, self.offset, self.operand, self.comparand)
        with m.Switch(index):
            for n, register in enumerate(kept):
                with m.Case(n):
                    m.d.sync += register.eq(word)

    def tell_appends(self, m):
        m.d.sync += self.appends.eq(appends(self.first.op))

    def is_reply(self):
        return (self.first.op == Op.ACK) | (self.first.op == Op.DATA)

    def last_word(self):
        """The index of the last word to take."""
        return Mux(self.is_reply(), REPLY_WORDS, ATOMIC_WORDS - 1)

    def well_formed(self, config, words, is_open, entry):
        """The packet has the words that its op and length call for, and comes from a NIC that there
        may be. `entry`, if `is_open`, is the request that it answers."""
        length = self.size.length
        sized = (length != 0) & (length <= config.payload)
        data_words = (length + self.offset[:2] + 3) >> 2
        with_data = sized & (words == REQUEST_WORDS + data_words)
        answer_words = Mux(entry.op == Op.READ, (entry.length + entry.local_offset[:2] + 3) >> 2, 1)
        by_op = {
            Op.NOP: words == REQUEST_WORDS,
            Op.WRITE: with_data,
            Op.APPEND: with_data,
            Op.RETRY: with_data,
            Op.READ: sized & (words == REQUEST_WORDS),
            Op.ATOMIC: (length == 4) & (words == ATOMIC_WORDS) & (self.size.atomic <= Atomic.XOR),
            Op.ACK: words == REPLY_WORDS,
            Op.DATA: ~is_open | (words == REPLY_WORDS + answer_words),
        }
        fits = Cat((self.first.op == op) & condition for op, condition in by_op.items()).any()
        return fits & (self.first.mark == MARK) & (self.first.source < config.peers)
