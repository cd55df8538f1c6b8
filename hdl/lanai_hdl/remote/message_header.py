"""The header of a SEND, and what is asked and told about it."""

from amaranth import Cat, Mux
from amaranth.lib import data

from ..fields import layout
from .lookup_port import PROCESS_BITS
from .messages import HEADER_BYTES, SLOT_BITS, Ask, EnvelopeWord, Fate, HeaderWord
from .packets import SizeWord
from .tables import EXPOSURES


class Message(data.Struct):
    """The words of a SEND before its bytes. `again`: as `Again` has it."""

    owner: PROCESS_BITS
    exposure: range(EXPOSURES)
    key: 16
    size: layout(SizeWord)
    envelope: layout(EnvelopeWord)
    header: layout(HeaderWord)
    again: 1


def of_message(m, entry, message, number):
    """Make `entry` that of a message, which is the record with this number if it becomes one."""
    m.d.comb += [
        entry.envelope.context.eq(message.header.context),
        entry.envelope.source.eq(Cat(message.size.process, message.size.node)),
        entry.envelope.tag.eq(message.envelope.tag),
        entry.handle.eq(number),
    ]


def of_slot(m, entry, words, slot):
    """Make `entry` that of a receive, with the words of its slot."""
    m.d.comb += [
        entry.envelope.context.eq(words.want.context),
        entry.envelope.source.eq(Cat(words.want.process, words.want.node)),
        entry.envelope.tag.eq(words.name.tag),
        entry.any_source.eq(words.want.any_source),
        entry.any_tag.eq(words.want.any_tag),
        entry.handle.eq(Mux(words.ask.ask == Ask.CANCEL, words.name.slot, slot[:SLOT_BITS])),
    ]


def of_record(m, record, message, slot, found, left):
    """Make `record` the first word of a message's record, of which a receive in `slot` was `found`, or which is
    `left`."""
    m.d.comb += [
        record.length.eq(message.size.length),
        record.slot.eq(slot[:SLOT_BITS]),
        record.fate.eq(Mux(found, Fate.TAKEN, Mux(left, Fate.LEFT, Fate.HELD))),
        record.node.eq(message.size.node),
        record.process.eq(message.size.process),
    ]


def of_placed(m, told, flag, message):
    """Make the first word and the last of a receipt those of a message that has been written to a buffer."""
    m.d.comb += [
        told.length.eq(message.size.length - HEADER_BYTES),
        told.process.eq(message.size.process),
        told.node.eq(message.size.node),
        flag.tag.eq(message.envelope.tag),
    ]
