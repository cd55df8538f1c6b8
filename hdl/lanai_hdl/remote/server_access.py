"""The memory accesses of the packet server: what each is for, and where it goes."""

from amaranth import Mux
from amaranth.lib import enum

from .command_queue import COMMAND_BITS
from .fifo import CONTROL_BYTES
from .lookup_port import Need
from .packets import WIDE_BYTES, Op
from .tables import FLAG_AT, FLAG_BYTES, RESULT_AT, WIDE_RESULT_AT


class Work(enum.Enum, shape=2):
    """The purpose of the memory access under way."""

    REQUEST = 0
    REPLY = 1
    FLAG = 2  # a command's end


class Step(enum.Enum, shape=2):
    """The step of an APPEND, by what it accesses."""

    CONTROL = 0  # the control words are read
    RECORD = 1  # the record is written
    TAIL = 2  # the tail word is written, and is what the process waits for


def ask(m, lookup, work, step, packet, append, entry, oldest, well):
    """Drive `lookup` with the memory that the access needs.

    `entry` is the request that a reply answers, `oldest` the command whose end is reported. If that is an
    ATOMIC its result is written too, but only if it ended `well`: else there is none, only that of another.
    """
    with m.Switch(work):
        with m.Case(Work.REQUEST):
            m.d.comb += [
                lookup.owner.eq(packet.target.exposure >> len(lookup.exposure)),
                lookup.exposure.eq(packet.target.exposure),
                lookup.need.eq(Mux(packet.first.op == Op.ATOMIC, Need.ATOMIC, Need.WRITE)),
                lookup.key.eq(packet.target.key),
                lookup.offset.eq(packet.offset),
                lookup.length.eq(packet.size.length),
            ]
            with m.If(packet.appends):
                m.d.comb += [lookup.need.eq(Need.APPEND), lookup.length.eq(CONTROL_BYTES)]
                with m.If(step == Step.RECORD):
                    m.d.comb += [lookup.offset.eq(append.offset), lookup.length.eq(append.size)]
                with m.If(step == Step.TAIL):
                    m.d.comb += lookup.length.eq(4)
        with m.Case(Work.REPLY):
            m.d.comb += [
                lookup.owner.eq(entry.buffer >> COMMAND_BITS),
                lookup.exposure.eq(entry.local),
                lookup.need.eq(Need.OWN),
                lookup.offset.eq(entry.local_offset),
                lookup.length.eq(entry.length),
            ]
        with m.Case(Work.FLAG):
            result_at = Mux(oldest.length == WIDE_BYTES, WIDE_RESULT_AT, RESULT_AT)
            at = Mux((oldest.op == Op.ATOMIC) & well, result_at, FLAG_AT)
            m.d.comb += [
                lookup.owner.eq(oldest.buffer >> COMMAND_BITS),
                lookup.need.eq(Need.FLAGS),
                lookup.offset.eq(oldest.buffer[:COMMAND_BITS] * FLAG_BYTES + at),
                lookup.length.eq(FLAG_AT + 4 - at),
            ]
