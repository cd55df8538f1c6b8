"""Completion of commands and of stores: the part of the packet server that reports it."""

from amaranth import Mux, Signal
from amaranth.lib import data

from ..fields import layout
from .command_queue import COMMAND_BITS
from .packets import Op, Status
from .tables import TAG_BITS, FlagWord


class Completion:
    """States of `PacketServer` for the end of the oldest request."""

    def _end_command(self, m):
        """The oldest command has ended: its flag is written."""
        with m.State("END"):
            flag, worst, before = Signal(layout(FlagWord)), Signal(Status), self._worst.read(0)[1]
            m.d.comb += [
                worst.eq(Mux(before == Status.OK, self.oldest_status, before)),
                self._worst.write_data.eq(worst),
                flag.status.eq(worst),
                self.answered_store.eq(self.oldest.stored & (self.oldest.op != Op.READ)),
                self.answered_load.eq(self.oldest.stored & (self.oldest.op == Op.READ)),
                flag.tag.eq(self.command.data[:TAG_BITS]),
                self.lookup.start.eq(self.oldest.last),
                self.retire.eq(~self.oldest.last),
                self._write_data.store_word.eq(1),
                self._write_data.number.eq(flag),
            ]
            m.d.sync += [
                self._status.eq(Status.OK),
                self._turn.eq(0),
            ]
            with m.If(~self.oldest.stored):
                m.d.comb += self._worst.write_en.eq(1)
            if self.config.streams:
                self._end_stores(m, worst)
            m.next = "IDLE"
            with m.If(self.oldest.last):
                m.next = "LOOKUP"
            if self.config.quiet:
                self._end_quietly(m, worst)

    def _end_quietly(self, m, worst):
        """A QUIET command that has ended well writes no flag."""
        with m.If((self.oldest.op == Op.QUIET) & (worst == Status.OK)):
            m.d.comb += [self.lookup.start.eq(0), self.retire.eq(1), self.free.eq(self.oldest.last)]
            m.next = "IDLE"

    def _end_stores(self, m, worst):
        """Keep the worst end of each process's stores and loads since its last NOP: that is how the NOP
        ends."""
        oldest = self.oldest
        ends = Signal(data.ArrayLayout(Status, 1 << len(oldest.buffer[COMMAND_BITS:])), name="stores_end")
        mine = ends[oldest.buffer[COMMAND_BITS:]]
        with m.If(oldest.stored & (mine == Status.OK)):
            m.d.sync += mine.eq(self.oldest_status)
        with m.If(~oldest.stored & (oldest.op == Op.NOP)):
            m.d.comb += worst.eq(mine)
            m.d.sync += mine.eq(Status.OK)
