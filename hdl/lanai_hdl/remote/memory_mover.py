"""Moves words between packets and host memory: a part of the packet server."""

from amaranth import Mux

from .fifo import CONTROL_FIELDS
from .packets import REPLY_WORDS, REQUEST_WORDS, Op, Status
from .server_access import Step, Work


class MemoryMover:
    """States of `PacketServer` that look up an access, read memory and write it.

    They use: the packet `_packet`, the run `_run` that a lookup has allowed, `_append`
    and `_fifo_words` for an APPEND, `_found` and `_write_data` for numbers; `_work`, `_step`,
    `_status`; `_apart`, an APPEND's record and control words lie in different pages."""

    def _locate(self, m):
        """Select the place in host memory of the work under way."""
        of_request = self._work == Work.REQUEST
        of_append = of_request & self._packet.appends
        with m.State("LOOKUP"):
            m.d.comb += [self.lookup.start.eq(1), self._locating.eq(1)]
            m.d.sync += [self._little.eq(self.lookup.little), self._signals.eq(self.lookup.signals)]
            with m.If(self.lookup.done):
                with m.If((self._status == Status.OK) | (self.lookup.status != Status.OK)):
                    m.d.sync += self._status.eq(self.lookup.status)
                m.next = "WRITE"
                with m.If(self.lookup.status != Status.OK):
                    m.next = "DONE"
                with m.Elif(of_request & self._reads_first()):
                    m.next = "READ"
            m.d.sync += [
                self._from_packet.eq((self._work != Work.FLAG) & ~(of_append & (self._step == Step.TAIL))),
                self._at.eq(Mux(of_request & ~self._packet.appends, REQUEST_WORDS, REPLY_WORDS)),
                self._left.eq(Mux(self._packet.appends, len(CONTROL_FIELDS) - 1, self._packet.wide)),
                self._failed.eq(0),
            ]

    def _read(self, m):
        """Read the memory: the word of an ATOMIC, or the control words of a FIFO."""
        with m.State("READ"):
            m.d.comb += [self._run.read.eq(1), self._found.begin.eq(1)]
            with m.If(self._run.begun):
                m.next = "OLD"
        with m.State("OLD"):
            m.d.comb += [
                self.bus.read.ready.eq(1),
                self._fifo_words.take.eq(self.bus.read.valid & self._packet.appends),
                self._found.take.eq(self.bus.read.valid),
            ]
            m.d.sync += self._from_packet.eq(0)
            with m.If(self.bus.read.valid):
                m.d.sync += [
                    self._left.eq(self._left - 1),
                    self._failed.eq(self._failed | self.bus.read.payload.error),
                ]
                with m.If(self._left == 0):
                    m.next = "NEW"
                    with m.If(self._packet.appends):
                        m.next = "RECALL"
                    with m.If(self._failed | self.bus.read.payload.error):
                        m.d.sync += self._status.eq(Status.BUS)
                        m.next = "DONE"
        with m.State("RECALL"):  # the words that were read stand in the next slot
            m.next = "COUNT"
        with m.State("COUNT"):
            m.next = "FIT"
        with m.State("FIT"):
            m.next = "PLACE"
        with m.State("PLACE"):
            self._store_tail(m)
            m.d.sync += self._step.eq(Step.RECORD)
            with m.If(self._append.full):
                m.d.sync += self._status.eq(Mux(self._append.barred, Status.BEFORE, Status.FULL))
                m.d.sync += self._step.eq(Step.TAIL)
            m.next = "LOOKUP"
        with m.State("NEW"):
            m.d.comb += [self._write_data.store_number.eq(1), self.atomic.eq(1)]
            m.next = "WRITE"

    def _write(self, m):
        """Write the words, and report the status. While a record is written its tail is looked
        up."""
        with m.State("WRITE"):
            m.d.comb += self._run.write.eq(1)
            record = (self._work == Work.REQUEST) & self._packet.appends & (self._step == Step.RECORD)
            m.d.sync += self._tail_follows.eq(record)
            with m.If(self._run.begun):
                with m.If(record):
                    m.d.sync += self._step.eq(Step.TAIL)
                m.next = "MOVE"
        with m.State("MOVE"):
            m.d.comb += [self.lookup.start.eq(self._tail_follows), self.lookup.wanted.eq(0)]
            with m.If(self._run.done):
                m.next = "DONE"
                with m.If(self._tail_follows):
                    m.next = "LOOKUP"
                with m.If(self._run.bad):
                    m.d.sync += self._status.eq(Status.BUS)
                    with m.If(self._tail_follows):
                        m.next = "REFUSE"
        with m.State("DONE"):
            m.next = "IDLE"
            m.d.comb += self.release.eq(self._work != Work.FLAG)
            with m.Switch(self._work):
                with m.Case(Work.REQUEST):
                    m.d.comb += [
                        self.refused.eq(self._status != Status.OK),
                        self.served.eq(self._status == Status.OK),
                        self.signalled.eq(self.served & self._packet.appends & self._signals),
                    ]
                    self._finish(m)
                    self._note_written(m)
                with m.Case(Work.REPLY):
                    m.d.comb += [self.resolve.eq(1), self.resolution.eq(self._status)]
                    m.d.comb += self._fifo_words.forget.eq(1)
                with m.Case(Work.FLAG):
                    m.d.comb += [self.retire.eq(1), self.free.eq(1), self.refused.eq(self._status != Status.OK)]
                    m.d.comb += [self._worst.write_en.eq(1), self._worst.write_data.eq(Status.OK)]

    def _note_written(self, m):
        """A request has been carried out, or was refused: what of that concerns the control words that
        are kept. A record may lie in the page of its FIFO's control words, over those of others."""
        packet, words = self._packet, self._fifo_words
        with m.If(packet.appends & (self._status == Status.OK) & self._apart):
            m.d.comb += words.keep.eq(1)
        with m.Elif((self._status == Status.OK) | (self._status == Status.BUS)):
            m.d.comb += words.forget.eq(1)

    def _store_tail(self, m):
        """The tail word of an APPEND is written next, or after its record."""
        m.d.comb += [self._write_data.store_word.eq(1), self._write_data.number.eq(self._append.new_tail)]

    def _reads_first(self):
        """Return 1 if the access begins with a read: of an ATOMIC's word, or a FIFO's control words."""
        return (self._packet.first.op == Op.ATOMIC) | (self._packet.appends & (self._step == Step.CONTROL))
