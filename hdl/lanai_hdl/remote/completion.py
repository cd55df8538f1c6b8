"""Completion of commands, of stores, and of requests of collectives."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .access_work import FLAG_LEAD, AccessWork, of_end
from .cleared_memory import ClearedMemory
from .collect_parts import Loss
from .command_queue import BUFFER_BITS, COMMAND_BITS
from .entries import request_shape
from .host_side import CommandRead
from .packets import Op, Status
from .parameters import RemoteParameters
from .tables import START, TAG_BITS
from .timed import Ahead


class Completion(wiring.Component):
    """Ends the oldest request in the slot of `serve`. If it was its command's last, the command's flag is work for
    the mover, and the request stays the oldest until that has been done.

    A command ends as the first of its requests that was refused.

    Members
    -------
    oldest, oldest_status : ``In``, of `Sequencer`; retire : ``Out(1)``
    command : ``Out(CommandRead())``; ``free``, ``freed``: the command of this buffer has ended
    owner : ``In``, a process; failing : ``Out(1)``, of the requests of its oldest command one has been refused;
        within the slot
    serve : ``In(1)``
    flag_of : ``Out(Ahead)``, of the mover: the buffer of `oldest`, which has ended before it is served
    flag : ``Out(stream)`` of `AccessWork`, offered in the slot of `serve` and until it is taken, which is when it has
        ended. Its payload stands before: that of the oldest request.
    answered_store : ``Out(1)``, the stores of request `oldest` have ended; answered_load : the load. With
        `config.streams`
    loss, loses : ``Out``, of `Collect`, with `config.groups`
    ready_next, idle : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "oldest": In(request_shape(config)),
                "oldest_status": In(Status),
                "retire": Out(1),
                "command": Out(CommandRead()),
                "free": Out(1),
                "freed": Out(BUFFER_BITS),
                "owner": In(range(max(config.processes, 2))),  # not `process`: a class in SystemVerilog
                "failing": Out(1),
                "serve": In(1),
                "flag_of": Out(Ahead(BUFFER_BITS, FLAG_LEAD)),
                "flag": Out(stream.Signature(AccessWork)),
                "answered_store": Out(1),
                "answered_load": Out(1),
                **({"loss": Out(Loss), "loses": Out(1)} if config.groups else {}),
                "ready_next": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.worst = self._worst = ClearedMemory(Status, self.config.processes, reads=2)
        self._end = Signal(Status)  # of the requests of the oldest one's command
        self._find_worst(m)
        if self.config.streams:
            self._find_worst_store(m)
        oldest, flag, flags, flagging = self.oldest, self.flag, Signal(), Signal()
        of_end(m, flag.payload, oldest)
        m.d.comb += [
            self.flag_of.value.eq(oldest.buffer),
            self.freed.eq(oldest.buffer),
            self.command.buffer.eq(oldest.buffer),
            self.command.field.eq(START),
            flag.payload.flag.status.eq(self._end),
            flag.payload.flag.tag.eq(self.command.data[:TAG_BITS]),
            flag.valid.eq(flags | flagging),
            self.idle.eq(~flagging),
        ]
        with m.If(self.serve):
            m.d.comb += [
                flags.eq(oldest.last),
                self.answered_store.eq(oldest.stored & (oldest.op != Op.READ)),
                self.answered_load.eq(oldest.stored & (oldest.op == Op.READ)),
                self._worst.write_en.eq(~oldest.stored),
                self.retire.eq(~flags),
            ]
            m.d.sync += flagging.eq(flags)
            if self.config.quiet:  # a QUIET command that has ended well writes no flag
                with m.If((oldest.op == Op.QUIET) & (self._end == Status.OK)):
                    m.d.comb += [flags.eq(0), self.free.eq(oldest.last)]
            if self.config.groups:
                self._lose(m, flags)
        with m.If(flag.valid & flag.ready):
            m.d.sync += flagging.eq(0)
            m.d.comb += [self.retire.eq(1), self.free.eq(1)]
            m.d.comb += [self._worst.write_en.eq(1), self._worst.write_data.eq(Status.OK)]
        return m

    def _find_worst(self, m):
        """Find the end of the oldest request's command: that of the first of its requests that was refused."""
        worst, mine = self._worst, self.oldest.buffer[COMMAND_BITS:]
        before = worst.read(0)[1]
        m.d.comb += [
            self.ready_next.eq(worst.ready_next),
            worst.read(0)[0].eq(mine),
            worst.write_addr.eq(mine),
            self._end.eq(Mux(before == Status.OK, self.oldest_status, before)),
            worst.write_data.eq(self._end),
            worst.read(1)[0].eq(self.owner),
            self.failing.eq(worst.read(1)[1] != Status.OK),
        ]

    def _find_worst_store(self, m):
        """Keep the worst end of each process's stores and loads since its last NOP: that is how the NOP
        ends."""
        oldest = self.oldest
        ends = Signal(data.ArrayLayout(Status, 1 << len(oldest.buffer[COMMAND_BITS:])), name="stores_end")
        mine = ends[oldest.buffer[COMMAND_BITS:]]
        with m.If((self.answered_store | self.answered_load) & (mine == Status.OK)):
            m.d.sync += mine.eq(self.oldest_status)
        with m.If(~oldest.stored & (oldest.op == Op.NOP)):
            m.d.comb += self._end.eq(mine)
            with m.If(self.retire):
                m.d.sync += mine.eq(Status.OK)

    def _lose(self, m, flags):
        """A COLLECT is of no command, and has no flag. Its process is told if it was refused or lost."""
        oldest, loss, collects = self.oldest, self.loss, self.oldest.op == Op.COLLECT
        m.d.comb += [
            loss.owner.eq(oldest.buffer >> COMMAND_BITS),
            loss.place.eq(oldest.local_offset),
            loss.status.eq(self.oldest_status),
            self.loses.eq(collects & (self.oldest_status != Status.OK)),
        ]
        with m.If(collects):
            m.d.comb += [flags.eq(0), self._worst.write_en.eq(0)]
