"""Completion of commands and of stores: the part of the packet server that reports it."""

from amaranth import Mux, Signal
from amaranth.lib import data

from .command_queue import COMMAND_BITS
from .packets import Op, Status
from .tables import TAG_BITS


class Completion:
    """States of `PacketServer` for the end of the oldest request."""

    def _find_worst(self, m):
        """Find the end of the oldest request's command: that of the first of its requests that was refused."""
        before = self._worst.read(0)[1]
        m.d.comb += [
            self._worst_end.eq(Mux(before == Status.OK, self.oldest_status, before)),
            self._worst.write_data.eq(self._worst_end),
            self._mover.i.payload.flag.status.eq(self._worst_end),
            self._mover.i.payload.flag.tag.eq(self.command.data[:TAG_BITS]),
        ]
        if self.config.streams:
            self._find_worst_store(m)

    def _find_worst_store(self, m):
        """Keep the worst end of each process's stores and loads since its last NOP: that is how the NOP
        ends."""
        oldest = self.oldest
        ends = Signal(data.ArrayLayout(Status, 1 << len(oldest.buffer[COMMAND_BITS:])), name="stores_end")
        mine = ends[oldest.buffer[COMMAND_BITS:]]
        with m.If((self.answered_store | self.answered_load) & (mine == Status.OK)):
            m.d.sync += mine.eq(self.oldest_status)
        with m.If(~oldest.stored & (oldest.op == Op.NOP)):
            m.d.comb += self._worst_end.eq(mine)
            with m.If(self.retire):
                m.d.sync += mine.eq(Status.OK)

    def _end_command(self, m):
        """The oldest request has ended. If it was its command's last, the flag is written."""
        oldest, mover = self.oldest, self._mover
        with m.State("END"):
            flags = Signal()
            m.d.comb += [
                flags.eq(oldest.last),
                self.answered_store.eq(oldest.stored & (oldest.op != Op.READ)),
                self.answered_load.eq(oldest.stored & (oldest.op == Op.READ)),
                self._worst.write_en.eq(~oldest.stored),
                self.retire.eq(~flags),
                mover.i.valid.eq(flags),
            ]
            m.d.sync += [self._turn.eq(0), self._wanted.eq(1)]
            if self.config.quiet:  # a QUIET command that has ended well writes no flag
                with m.If((oldest.op == Op.QUIET) & (self._worst_end == Status.OK)):
                    m.d.comb += [flags.eq(0), self.free.eq(oldest.last)]
            if self.config.groups:  # a COLLECT is of no command
                with m.If(self._loses_collect(m)):
                    m.d.comb += [flags.eq(0), self._worst.write_en.eq(0)]
            m.next = "IDLE"
            with m.If(flags):
                m.next = "MOVE"
