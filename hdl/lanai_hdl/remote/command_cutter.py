"""Cuts the host's commands into requests."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from ..machine import PAGE_SIZE
from .command_queue import BUFFER_BITS, COMMAND_BITS, CommandQueuePort
from .entries import new_entry_shape
from .host_side import PLACES, HeadPort
from .lookup_port import LENGTH_BITS
from .messages import HEADER_BYTES
from .packets import ATOMIC_BYTES, WIDE_BYTES, WINDOW, Atomic, Op, Status
from .parameters import RemoteParameters
from .tables import COMMAND_FIELDS, FIRST_OF_HEAD, CommandWord

TURN = WINDOW  # requests of a command behind which others' commands may go on, or more
assert TURN >= WINDOW
assert TURN & (TURN - 1) == 0


class CommandCutter(wiring.Component):
    """Cuts the commands of each process in the order in which they were started.

    A request's bytes lie in one page at the peer and in one page here, and in one piece of
    `payload` bytes at the side that is written, or of `read_bytes` if it is a READ. A command that
    means nothing ends as `Status.INVALID`; one of no bytes, and a NOP, ends well at once, unsent.
    Each request of an APPEND is a record of its own. A SEND is one request, or means nothing.

    A turn of a command is `TURN` requests, and more if nothing else is to be done. Then it makes way
    for commands of other processes, if there are some, and goes on when its process's turn comes
    again. If a request of the command has been refused by then, the command ends. As no more than
    `WINDOW` requests are outstanding, at most `WINDOW` + `TURN` - 1 are sent behind one that is
    refused.

    Members
    -------
    i : ``In(CommandQueuePort())``
    head : ``Out(HeadPort())``
    failing : ``In(1)``, of the requests of the oldest command of process `owner` one has been refused
    o : ``Out(stream)``
    invalid : ``Out(1)``, a slot's event
    idle : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "i": In(CommandQueuePort()),
                "head": Out(HeadPort()),
                "owner": Out(range(max(config.processes, 2))),
                "failing": In(1),
                "o": Out(stream.Signature(new_entry_shape(config))),
                "invalid": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        buffer = Signal(BUFFER_BITS)
        head, key = Signal(layout(CommandWord)), Signal(16)
        offset, left, local_offset = Signal(32), Signal(32), Signal(32)
        kept = {"head": head, "key": key, "offset": offset, "length": left, "local_offset": local_offset}
        length = Signal(LENGTH_BITS)
        status = Signal(Status)
        given = Signal(range(TURN + 1))  # requests of this turn, or TURN if there were more
        turn_over = given[-1]
        m.d.comb += self.owner.eq(buffer[COMMAND_BITS:])
        m.d.comb += [self.head.buffer.eq(buffer), self.head.places.eq(Cat(kept[name] for name in PLACES))]
        self._entry(m, buffer, head, key, offset, left, local_offset, length, status)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.i.take.eq(self.i.waiting), self.idle.eq(~self.i.waiting)]
                m.d.comb += self.head.buffer.eq(self.i.buffer)
                m.d.sync += [buffer.eq(self.i.buffer), given.eq(0)]
                with m.If(self.i.waiting):
                    m.next = "LOAD"
            with m.State("LOAD"):
                words = self.head.data
                for name, register in kept.items():
                    m.d.sync += register.eq(words[COMMAND_FIELDS.index(name) - FIRST_OF_HEAD])
                loaded = layout(CommandWord)(words[0])
                with m.If(loaded.op == Op.NOP):
                    m.d.sync += left.eq(0)
                with m.If(loaded.op == Op.ATOMIC):
                    m.d.sync += left.eq(Mux(loaded.wide, WIDE_BYTES, ATOMIC_BYTES))
                m.next = "JUDGE"
            with m.State("JUDGE"):
                judged = Signal(Status)
                m.d.comb += [judged.eq(self._judge(head, offset)), self.invalid.eq(judged != Status.OK)]
                m.d.sync += status.eq(judged)
                self._cut(m, head, offset, local_offset, left, length)
                m.next = "GIVE"
            with m.State("CUT"):
                self._cut(m, head, offset, local_offset, left, length)
                m.next = "GIVE"
                with m.If(turn_over & self.failing):
                    m.d.sync += left.eq(0)
                with m.Elif(turn_over & self.i.others):
                    m.next = "SAVE"
            with m.State("SAVE"):
                m.d.comb += [self.head.saves.eq(1), self.i.again.eq(self.head.saved)]
                with m.If(self.head.saved):
                    m.next = "IDLE"
            with m.State("GIVE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.d.sync += [
                        offset.eq(offset + Mux(self.config.appends(head.op), 0, length)),
                        local_offset.eq(local_offset + length),
                        left.eq(left - length),
                        given.eq(given + ~turn_over),
                    ]
                    m.next = "CUT"
                    with m.If(self.o.payload.entry.last):
                        m.next = "IDLE"
        return m

    def _cut(self, m, head, offset, local_offset, left, length):
        """The bytes of the next request."""
        there = Mux(self.config.appends(head.op), 0, offset)  # a record's place is not known here
        here = Mux(head.op == Op.ATOMIC, 0, local_offset)  # its answer comes with the flag: it has no memory here
        reads = head.op == Op.READ
        least = least_bytes(m, left, Mux(reads, here, there), Mux(reads, there, here), self.config.payload)
        m.d.sync += length.eq(least)
        if self.config.read_bytes:
            with m.If(reads):
                m.d.sync += length.eq(least_bytes(m, left, here, there, self.config.read_bytes))

    def _entry(self, m, buffer, head, key, offset, left, local_offset, length, status):
        new, entry = self.o.payload, self.o.payload.entry
        ended = Signal()  # not read back from the payload: simulators see a loop in a vector that feeds itself
        m.d.comb += [
            ended.eq((status != Status.OK) | (left == 0)),
            new.ended.eq(ended),
            new.status.eq(status),
            entry.buffer.eq(buffer),
            entry.peer.eq(head.peer),
            entry.op.eq(head.op),
            entry.atomic.eq(head.atomic),
            entry.exposure.eq(head.exposure),
            entry.key.eq(key),
            entry.offset.eq(offset),
            entry.length.eq(length),
            entry.local.eq(head.local),
            entry.local_offset.eq(local_offset),
            entry.last.eq((left == length) | ended),
        ]
        if self.config.match_cells:  # a message is one packet, with a header
            with m.If((head.op == Op.SEND) & ((left != length) | (left < HEADER_BYTES))):
                m.d.comb += [ended.eq(1), new.status.eq(Status.INVALID)]
                m.d.comb += self.invalid.eq(self.o.valid & self.o.ready & (status == Status.OK))

    def _judge(self, head, offset):
        atomic = head.op == Op.ATOMIC
        adds = self.config.appends(head.op)
        moves = (head.op == Op.WRITE) | (head.op == Op.READ) | adds
        known = (head.op == Op.NOP) | moves | (atomic & (head.atomic <= Atomic.XOR))
        unaligned = ((atomic | adds) & offset[:2].any()) | (atomic & head.wide & offset[2])
        valid = known & (head.peer < self.config.peers)
        return Mux(~valid, Status.INVALID, Mux(unaligned, Status.ALIGNMENT, Status.OK))


def least_bytes(m, left, written, other, payload):
    """The bytes of a request: of the `left` ones, those up to the next multiple of `payload` at the
    side that is `written` and up to the page's end at the `other`.

    Pages are whole numbers of pieces of `payload` bytes. So the other side's page counts only in
    its last piece, and its limit then is of as few bits as the written side's. All comparisons are
    made at once, not one on the result of another.
    """
    bits = (payload - 1).bit_length()
    page_bits = (PAGE_SIZE - 1).bit_length()
    places = []
    for name, place in (
        ("at_written", written[:bits]),
        ("at_other", Mux(other[bits:page_bits].all(), other[:bits], 0)),
    ):
        places.append(Signal(bits, name=name))
        m.d.comb += places[-1].eq(place)
    at_written, at_other = places
    many = left[bits:].any()  # `payload` or more
    least = Signal(LENGTH_BITS)
    with m.If(at_other > at_written):
        m.d.comb += least.eq(Mux(many | (left[:bits] + at_other > payload), payload - at_other, left))
    with m.Else():
        m.d.comb += least.eq(Mux(many | (left[:bits] + at_written > payload), payload - at_written, left))
    return least
