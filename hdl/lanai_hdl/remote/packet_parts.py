"""The parts of a packet, in order, and their values."""

from amaranth import Mux, Signal
from amaranth.lib import enum

from ..fields import layout
from .command_queue import COMMAND_BITS
from .packets import MARK, Op, ReplyWord, RequestWord, SizeWord, TargetWord


class Part(enum.Enum, shape=4):
    """The flits of a packet before its data, in order; a reply leaves out those between TARGET and
    DATA."""

    HEAD = 0
    FIRST = 1
    TARGET = 2
    SIZE = 3
    OFFSET = 4
    OPERAND = 5
    COMPARAND = 6
    OPERAND_HIGH = 7
    COMPARAND_HIGH = 8
    VALUE = 9
    VALUE_HIGH = 10
    DATA = 11
    TAIL = 12


def values(m, number, own_boot, command_word, link, entry, reply, replies, op, index, vouches):
    """The value of each word but the data from memory. `number` and `own_boot` are this NIC's,
    `command_word` is a word of the command, `link` what a request carries, `vouches` that
    of a reply."""
    first, target, size, answer = (Signal(layout(word)) for word in (RequestWord, TargetWord, SizeWord, ReplyWord))
    m.d.comb += [
        first.mark.eq(MARK),
        first.op.eq(op),
        first.source.eq(number),
        first.sequence.eq(Mux(replies, reply.sequence, entry.sequence)),
        target.key.eq(entry.key),
        target.exposure.eq(entry.exposure),
        target.entry.eq(index),
        target.session.eq(link.session),
        size.length.eq(entry.length),
        size.boot.eq(link.boot),
        size.align.eq(entry.local_offset[:2]),
        size.atomic.eq(entry.atomic),
        size.node.eq(number),
        size.process.eq(entry.buffer >> COMMAND_BITS),
        answer.status.eq(reply.status),
        answer.own_boot.eq(own_boot),
        answer.kept.eq(reply.kept),
        answer.keeps.eq(reply.keeps),
        answer.vouches.eq(vouches),
        answer.boot.eq(reply.boot),
        answer.entry.eq(reply.entry),
        answer.session.eq(reply.session),
    ]
    return {
        Part.FIRST: first.as_value(),
        Part.TARGET: Mux(replies, answer.as_value(), target.as_value()),
        Part.SIZE: size.as_value(),
        Part.OFFSET: entry.offset,
        Part.OPERAND: command_word,
        Part.COMPARAND: command_word,
        Part.OPERAND_HIGH: command_word,
        Part.COMPARAND_HIGH: command_word,
        Part.VALUE: reply.value,
        Part.VALUE_HIGH: reply.offset,
    }


def follow(m, after, part, replies, op, words_follow, reads, wide):
    """`after`: the part behind `part`. `words_follow` on the header of a request. An ATOMIC, or its result, is
    `wide`."""
    m.d.comb += after.eq(part.as_value() + 1)
    with m.Switch(part):
        with m.Case(Part.TARGET):
            with m.If(replies):
                m.d.comb += after.eq(Mux(reads, Part.DATA, Mux(op == Op.DATA, Part.VALUE, Part.TAIL)))
        with m.Case(Part.OFFSET):
            m.d.comb += after.eq(Mux(reads, Part.DATA, Mux(words_follow, Part.OPERAND, Part.TAIL)))
        with m.Case(Part.COMPARAND, Part.VALUE):
            with m.If(~wide):
                m.d.comb += after.eq(Part.TAIL)
        with m.Case(Part.COMPARAND_HIGH, Part.VALUE_HIGH):
            m.d.comb += after.eq(Part.TAIL)
