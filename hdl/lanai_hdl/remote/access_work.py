"""Work for the mover: what is read and written of host memory, and whose it is."""

from amaranth import Cat, Const
from amaranth.lib import data, enum

from ..fields import layout
from .command_queue import BUFFER_BITS, COMMAND_BITS
from .groups import RESULTS_AT
from .lookup_port import LENGTH_BITS, PROCESS_BITS, Need
from .messages import RECEIPT_BYTES
from .packets import Atomic, Op, Status, conditional
from .tables import EXPOSURES, FLAG_BYTES, FlagWord

FIFO_LEAD, FLAG_LEAD = 3, 1  # slots in which a question stands before the work that it is about is offered


class Kind(enum.Enum, shape=2):
    """The kind of an access to host memory."""

    DATA = 0  # words of a packet are written
    ATOMIC = 1  # a number is read and written
    APPEND = 2  # a record is added to a FIFO, from words of a packet
    FLAG = 3  # a command's flag is written, and the result of an ATOMIC with it


class AccessWork(data.Struct):
    """An access to `length` bytes at byte `offset` of `exposure` of process `owner`.

    Of an ATOMIC: `atomic`, `operand`, `comparand`; its length is `ATOMIC_BYTES` or `WIDE_BYTES`. An APPEND's offset is
    that of its FIFO's control words, and its length that of its data. A FLAG's offset is that of its command's
    bytes in page 0 of the page table; the length does not count; the word `flag` is taken in the first slot.
    """

    kind: Kind
    owner: PROCESS_BITS
    exposure: range(EXPOSURES)
    need: Need
    key: 16
    offset: 32
    length: LENGTH_BITS
    atomic: Atomic
    operand: 64
    comparand: 64
    flag: layout(FlagWord)


class AccessDone(data.Struct):
    """The end of a work: `status`; whether a record was appended to a FIFO that `signals`; `old`, the number
    before an ATOMIC that ended well."""

    status: Status
    signals: 1
    old: 64


class FifoQuestion(data.Struct):
    """The FIFO at `offset` of `exposure`, a number of the NIC's, for a record with `length` bytes. The record may go
    to a FIFO that refuses (`retry`), or to none (`barred`)."""

    exposure: 8
    offset: 32
    length: LENGTH_BITS
    retry: 1
    barred: 1


class Result(data.Struct):
    """The result of an ATOMIC, of 64 bits if `wide`, for the command in `buffer`."""

    buffer: BUFFER_BITS
    wide: 1
    value: 64


def of_request(m, work, packet):
    """Make `work` that of a packet, a request."""
    atomic = packet.first.op == Op.ATOMIC
    m.d.comb += [
        work.kind.eq(Kind.DATA),
        work.owner.eq(packet.target.exposure >> len(work.exposure)),
        work.exposure.eq(packet.target.exposure),
        work.need.eq(Need.WRITE),
        work.key.eq(packet.target.key),
        work.offset.eq(packet.offset),
        work.length.eq(packet.size.length),
        work.atomic.eq(packet.size.atomic),
        work.operand.eq(packet.operand),
        work.comparand.eq(packet.comparand),
    ]
    with m.If(atomic):
        m.d.comb += [work.kind.eq(Kind.ATOMIC), work.need.eq(Need.ATOMIC)]
    with m.If(packet.appends):
        m.d.comb += [work.kind.eq(Kind.APPEND), work.need.eq(Need.APPEND)]


def of_fifo(m, question, packet, marked):
    """Make `question` that about the FIFO of a packet, a request of a process that is `marked`. A SEND's FIFO is the
    first of its exposure, and takes it if there is room."""
    first, size = packet.first, packet.size
    m.d.comb += [
        question.exposure.eq(packet.target.exposure),
        question.offset.eq(packet.offset),
        question.length.eq(size.length),
        question.retry.eq(first.op == Op.RETRY),
        question.barred.eq(conditional(first.op, size.atomic) & marked),
    ]
    with m.If(packet.sends):
        m.d.comb += [question.offset.eq(0), question.retry.eq(1)]


def of_reply(m, work, entry):
    """Make `work` that of a packet, a reply, which brings the data that request `entry` asked for."""
    m.d.comb += [
        work.kind.eq(Kind.DATA),
        work.owner.eq(entry.buffer >> COMMAND_BITS),
        work.exposure.eq(entry.local),
        work.need.eq(Need.OWN),
        work.offset.eq(entry.local_offset),
        work.length.eq(entry.length),
    ]


def of_end(m, work, oldest):
    """Make `work` that of a command's end, whose last request is `oldest`."""
    m.d.comb += [
        work.kind.eq(Kind.FLAG),
        work.owner.eq(oldest.buffer >> COMMAND_BITS),
        work.need.eq(Need.FLAGS),
        work.offset.eq(oldest.buffer[:COMMAND_BITS] * FLAG_BYTES),
    ]


def of_group_end(m, work, end):
    """Make `work` that of the end of a collective, whose value the mover is told."""
    m.d.comb += [
        work.kind.eq(Kind.FLAG),
        work.need.eq(Need.FLAGS),
        work.owner.eq(end.owner),
        work.offset.eq(RESULTS_AT + Cat(Const(0, (RECEIPT_BYTES - 1).bit_length()), end.lane)),
        work.flag.status.eq(end.status),
        work.flag.tag.eq(Cat(end.name, 1)),
    ]
