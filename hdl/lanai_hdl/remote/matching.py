"""Serving of SENDs, and of what processes ask: the part of the packet server that hands over to the match stage."""

from amaranth.lib import wiring

from .match_stage import RECORD_AT
from .messages import Again
from .packets import Status


class Matching:
    """Methods of `PacketServer` with a `stage`, and its state MATCH."""

    def _connect_stage(self, m):
        """The stage says what the mover does for a SEND, or for what a process asks."""
        packet, mover, stage, message = self._packet, self._mover, self.stage, self.stage.message
        m.d.comb += [
            self._status.eq(mover.o.payload.status),
            message.owner.eq(packet.target.exposure >> len(message.exposure)),
            message.exposure.eq(packet.target.exposure),
            message.key.eq(packet.target.key),
            message.size.eq(packet.size),
            message.envelope.eq(packet.offset),
            message.header.eq(packet.operand),
            message.again.eq(packet.size.atomic == Again.AGAIN),
            stage.did.valid.eq(mover.o.valid),
            stage.did.payload.eq(mover.o.payload),
            stage.work.ready.eq(mover.i.ready),
            stage.checked.eq(self.lookup.status),
            stage.renews.eq(self._order.renew),
            stage.source.eq(packet.first.source),
            mover.own.eq(stage.own),
            mover.tells.eq(stage.tells),
            mover.told.eq(stage.told),
        ]
        wiring.connect(m, wiring.flipped(self.slots), stage.slots)
        with m.If(self._asks | (~self._ends & packet.sends)):
            m.d.comb += mover.i.payload.eq(stage.work.payload)
        with m.If(packet.sends):  # its FIFO is the first of the exposure, and takes it if there is room
            m.d.comb += [mover.fifo.offset.eq(0), mover.fifo.retry.eq(1)]
        with m.If(stage.records & (self._at == RECORD_AT)):
            m.d.comb += mover.words.payload.eq(stage.record)

    def _serve_slots(self, m):
        """State IDLE: what processes ask takes turns with the rest."""
        waits = self.stage.waits & (self._ask_turn | ~(self.full | self.ended))
        with m.If(waits):
            m.d.comb += self.stage.serve.eq(1)
            m.d.sync += [self._ask_turn.eq(0), self._asks.eq(1)]
            m.next = "MATCH"

    def _match(self, m):
        """A SEND, or what a process has asked."""
        mover, stage = self._mover, self.stage
        with m.State("MATCH"):
            m.d.comb += [
                stage.sends.eq(~self._asks),
                mover.i.valid.eq(stage.work.valid),
                mover.judged.eq(stage.judged),
                mover.wanted.eq(stage.wanted),
            ]
            with m.If(stage.rewinds):
                m.d.sync += self._at.eq(stage.word_at)
            with m.If(stage.done):
                m.d.sync += self._asks.eq(0)
                m.next = "IDLE"
                with m.If(~self._asks):
                    refused = stage.status != Status.OK
                    m.d.comb += [
                        self.release.eq(1),
                        self._status.eq(stage.status),
                        self.refused.eq(refused),
                        self.served.eq(~refused),
                        self.signalled.eq(stage.signals & ~refused),
                    ]
                    self._finish(m)
