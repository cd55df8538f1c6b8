"""The checks that decide what is done with a packet: a part of the packet server."""

from amaranth import Mux, Signal

from .packets import Op, Status, relaxed
from .receive_order import Place


class PacketCheck:
    """Methods of `PacketServer`. They use: the packet `_packet`, its place `_order`, the `_mover` and
    how its work has ended, `_status`, `links` with the peers, `_asked`, `_leaves`."""

    def _reply(self, m):
        packet, status, old = self._packet, self._status, self._mover.o.payload.old
        reply = self.replies.payload
        m.d.comb += [
            reply.peer.eq(packet.first.source),
            reply.sequence.eq(packet.first.sequence),
            reply.entry.eq(packet.target.entry),
            reply.status.eq(status),
            reply.reads.eq(packet.first.op == Op.READ),
            reply.returns.eq((packet.first.op == Op.ATOMIC) & (status == Status.OK)),
            reply.value.eq(old[:32]),
            reply.exposure.eq(packet.target.exposure),
            reply.key.eq(packet.target.key),
            reply.offset.eq(Mux(packet.first.op == Op.ATOMIC, old[32:], packet.offset)),
            reply.length.eq(packet.size.length),
            reply.align.eq(packet.size.align),
            reply.session.eq(packet.target.session),
            reply.boot.eq(packet.size.boot),
            reply.kept.eq(self._order.kept),
            reply.keeps.eq(self._order.keeps),
        ]
        if self.config.quiet:
            refused = (packet.first.op == Op.QUIET) & (status != Status.OK)
            m.d.comb += [
                reply.vouches.eq(self._order.vouches),
                # A NOP may stand for a QUIET request that could not be sent again.
                self._order.doubt.eq(refused | (packet.first.op == Op.NOP)),
            ]

    def _is_asked(self, m):
        """An open request of this sender waits for the packet, a reply, and no older one does, or it
        is RELAXED, or the packet vouches for the older ones."""
        packet, entry = self._packet, self.answered.entry
        in_turn = (self.links.answered == packet.first.sequence) | relaxed(entry.op, entry.atomic)
        if self.config.quiet:
            older = Signal(16)
            m.d.comb += older.eq(packet.first.sequence - self.links.answered)
            in_turn |= packet.answer.vouches & (older <= self.answered_run)
        return (
            self.answered.open
            & self._is_of_session()
            & (entry.peer == packet.first.source)
            & (entry.sequence == packet.first.sequence)
            & in_turn
        )

    def _is_of_session(self):
        """The packet, a reply, answers what this NIC sends in its session with that peer."""
        answer, named = self._packet.answer, self.links.named
        return (answer.session == named.session) & (answer.boot == named.boot)

    def _says_other_boot(self):
        packet = self._packet
        says = (packet.first.op == Op.ACK) & (packet.answer.status == Status.SESSION)
        return says & self._is_of_session()

    def _judge_reply(self, m):
        """Only what an open request of this sender waits for is taken: an ACK that a READ or ATOMIC
        succeeded is not.

        Answers are taken in the order of the requests, but of RELAXED ones. Otherwise the data of a
        READ that is repeated could overwrite those of a later READ into the same memory.
        """
        packet, entry = self._packet, self.answered.entry
        wants_data = (entry.op == Op.READ) | (entry.op == Op.ATOMIC)
        refuses = (packet.answer.status != Status.OK) | ~wants_data
        m.d.comb += self.release.eq(1)
        with m.If(self._leaves):
            # Nothing was carried out of a session whose boot is not known yet: all is sent again.
            unknown = self.links.named.boot == 0
            m.d.comb += [self.links.learn.eq(unknown), self.left.eq(~unknown)]
        with m.Elif(~self._asked):
            m.d.comb += self.stale.eq(1)
        with m.Elif((packet.first.op == Op.ACK) & refuses):
            m.d.comb += [self.resolve.eq(1), self.resolution.eq(packet.answer.status)]
        with m.Elif((packet.first.op == Op.DATA) & (entry.op == Op.ATOMIC)):
            m.d.comb += [self._mover.keep.eq(1), self.resolve.eq(1)]
        with m.Elif((packet.first.op == Op.DATA) & (entry.op == Op.READ)):
            m.d.comb += self.release.eq(0)
            m.d.sync += self._wanted.eq(1)
            if self.config.streams:
                self._take_load(m)
        with m.Else():
            m.d.comb += self.malformed.eq(1)

    def _take_load(self, m):
        """No memory here is written if it is a load that read: the host waits for the word."""
        with m.If(self.answered.entry.stored):
            m.d.sync += self.loaded.eq(self._packet.loaded)
            m.d.comb += [self.release.eq(1), self.resolve.eq(1)]
            m.next = "IDLE"

    def _judge_request(self, m):
        packet = self._packet
        m.d.comb += self.release.eq(1)
        with m.If(~self.replies.ready):
            m.d.comb += self.no_room.eq(1)
        with m.Elif((self._order.place == Place.AHEAD) | ((self._order.place == Place.EARLY) & ~self._relaxed)):
            m.d.comb += self.ahead.eq(1)
        with m.Elif(self._order.place == Place.ABROAD):
            m.d.comb += [
                self.ahead.eq(1),
                self.replies.valid.eq(1),
                self.replies.payload.status.eq(Status.SESSION),
                self.replies.payload.reads.eq(0),
                self.replies.payload.returns.eq(0),
            ]
        with m.Elif(self._order.place == Place.NEW):
            m.d.comb += [self._order.renew.eq(1), self.release.eq(0)]
        with m.Elif(self._order.place == Place.DUPLICATE):
            m.d.comb += [
                self.duplicate.eq(1),
                self.replies.valid.eq(1),
                self.replies.payload.status.eq(self._order.status),
                self.replies.payload.returns.eq((packet.first.op == Op.ATOMIC) & (self._order.status == Status.OK)),
                self.replies.payload.value.eq(self._order.value[:32]),
            ]
            with m.If(packet.first.op == Op.ATOMIC):
                m.d.comb += self.replies.payload.offset.eq(self._order.value[32:])
        with m.Elif((packet.first.op == Op.NOP) | (packet.first.op == Op.READ)):
            m.d.comb += self.served.eq(1)
            with m.If(packet.first.op == Op.NOP):
                m.d.comb += [self.replies.payload.status.eq(Status.VOID), self._order.outcome.eq(Status.VOID)]
            self._finish(m)
        with m.Else():
            m.d.comb += self.release.eq(0)
            m.d.sync += self._wanted.eq(1)
            if self.stage is not None:
                with m.If(packet.sends):
                    m.next = "MATCH"
            if self.config.groups:
                with m.If(packet.first.op == Op.COLLECT):
                    m.next = "COLLECT"

    def _finish(self, m):
        """The request has been carried out, or has failed for good."""
        m.d.comb += [self._order.accept.eq(1), self.replies.valid.eq(1)]
        if self.config.quiet:
            quiet = (self._packet.first.op == Op.QUIET) & (self._status == Status.OK)
            m.d.comb += self.replies.valid.eq(~(quiet & self._order.vouches))
