"""Order and sessions of packets: what is carried out, what is answered, and what is dropped."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .access_work import FIFO_LEAD, AccessDone, AccessWork, FifoQuestion, Result, of_fifo, of_reply, of_request
from .entries import reply_shape
from .links import LinkPort
from .lookup_port import LENGTH_BITS
from .packets import BOOT_BITS, REPLY_WORDS, SESSION_BITS, WIDE_BYTES, Op, Status, conditional, fails_bound, relaxed
from .parameters import RemoteParameters
from .parse import Packet
from .receive_order import Place, ReceiveOrder
from .sequencer import INDEX_BITS, EntryRead
from .timed import Ahead

EVENTS = ("served", "refused", "duplicate", "ahead", "stale", "malformed", "no_room", "signalled")


class Transport(wiring.Component):
    """Judges one packet after the other: a request by its place among those of its sender, a reply by the request
    that waits for it. A packet that is sound is judged in the slot after it is offered. What is to be carried out is
    handed on, and answered when that has ended.

    A request that finds no space for its reply is dropped: its sender will send it again. So what
    arrives never waits for what is to be sent.

    Members
    -------
    i : ``In(stream)`` of `Packet`, from `Parse`; it is taken when it has been served
    release : ``Out(1)``, the words of the packet in `PacketBuffers` are not needed any more. Without it, a packet that
        is taken is looked at once more.
    looks : ``Out(1)``, the first slot of a packet
    work, judged, wanted, fifo, result, keep : ``Out``, of `Mover`. A work is offered with the first slot.
    sends, collects : ``Out(1)``, until `done`: a SEND or a COLLECT has been judged, and is to be carried out
    done : ``In(stream)``, how the work, the SEND or the COLLECT has ended. Its status is OK while nothing has.
    replies : ``Out(stream)``
    answered, answered_run, resolve, resolution, left, left_peer : of `Sequencer`; its `again` is `links.learn`
    links : of `Links`
    own_session, own_boot : ``In``, of this NIC
    renews : ``Out(1)``, a session of the packet's sender begins
    loaded : ``Out(32)``, the word of a load
    holds : ``Out(1)``, of `Parse`: the packet's place does not stand yet
    enable : ``In(1)``; without it every packet is dropped
    served, ... : ``Out(1)``, a slot's events, as the counters of these names
    ready_next, idle : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        self.order = ReceiveOrder(config)
        super().__init__(
            {
                "i": In(stream.Signature(Packet)),
                "release": Out(1),
                "looks": Out(1),
                "work": Out(stream.Signature(AccessWork)),
                "judged": Out(1),
                "wanted": Out(1),
                "fifo": Out(Ahead(FifoQuestion, FIFO_LEAD)),
                "result": Out(Result),
                "keep": Out(1),
                "sends": Out(1),
                "collects": Out(1),
                "done": In(stream.Signature(AccessDone, always_ready=True)),
                "replies": Out(stream.Signature(reply_shape(config))),
                "answered": Out(EntryRead(config, 0)),
                **({"answered_run": In(INDEX_BITS)} if config.quiet else {}),
                "resolve": Out(1),
                "resolution": Out(Status),
                "left": Out(1),
                "left_peer": Out(8),
                "links": Out(LinkPort()),
                "own_session": In(SESSION_BITS),
                "own_boot": In(BOOT_BITS),
                "renews": Out(1),
                "loaded": Out(32),
                "holds": Out(1),
                "enable": In(1),
                **{name: Out(1) for name in EVENTS},
                "ready_next": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.order = self.order
        self._packet, self._status = self.i.payload, self.done.payload.status
        self._sound = Signal()  # the packet is as it should be
        self._asked = Signal()  # an open request waited for the packet, a reply, in the slot before
        self._leaves = Signal()  # the packet, a reply, says that its sender is not in the session's boot
        self._newest = Signal()  # the packet, a reply, answers no older request than the last one did
        self._relaxed = Signal()  # the packet, a request, may take effect out of turn
        self._ends = Signal()  # what was handed on has ended
        self._connect(m)
        self._place(m)
        self._offer(m)
        self._reply(m)
        answer_fits = self._answer_fits(m)
        with m.FSM():
            with m.State("REST"):
                m.d.comb += self.idle.eq(~self.i.valid & ~self.order.catching_up)
                with m.If(self.i.valid):
                    m.d.comb += [self.looks.eq(1), self.work.valid.eq(self._accesses(self.answered.entry))]
                    self._look(m, answer_fits)
                    m.next = "JUDGE"
            self._judge(m)
            with m.State("MOVE"):
                m.d.comb += [self.work.valid.eq(1), self.judged.eq(1), self._ends.eq(self.done.valid)]
                m.d.comb += self.i.ready.eq(self.work.ready)
                with m.If(self.work.ready):
                    m.next = "REST"
            for state, hands in self._handed_on():
                with m.State(state):
                    m.d.comb += [hands.eq(1), self._ends.eq(self.done.valid), self.i.ready.eq(self.done.valid)]
                    with m.If(self.done.valid):
                        m.next = "REST"
        self._end(m)
        return m

    def _handed_on(self):
        """States in which another stage carries out the packet, and what they tell it."""
        stages = (self.config.match_cells, "SEND", self.sends), (self.config.groups, "COLLECT", self.collects)
        return [(state, hands) for there, state, hands in stages if there]

    def _connect(self, m):
        """The sender of a reply, and the request that it answers."""
        packet, links = self._packet, self.links
        m.d.comb += [
            self.answered.index.eq(packet.answer.entry),
            self.left_peer.eq(packet.first.source),
            links.source.eq(packet.first.source),
            links.sequence.eq(packet.first.sequence),
            links.answer.eq(self.resolve & self._newest),
            links.boot.eq(packet.answer.own_boot),
            links.kept.eq(packet.answer.kept),
            links.keeps.eq(packet.answer.keeps),
        ]

    def _place(self, m):
        """A request's place in the order of its sender's."""
        packet, order = self._packet, self.order
        m.d.comb += [
            self.ready_next.eq(order.ready_next),
            self.renews.eq(order.renew),
            order.source.eq(packet.first.source),
            order.session.eq(packet.target.session),
            order.boot.eq(packet.size.boot),
            order.own_session.eq(self.own_session),
            order.own_boot.eq(self.own_boot),
            order.sequence.eq(packet.first.sequence),
            order.owner.eq(packet.size.process),
            order.outcome.eq(self._status),
            order.mark.eq(fails_bound(packet.first.op, packet.size.atomic, self._status)),
            order.unmark.eq(conditional(packet.first.op, packet.size.atomic)),
            order.atomic.eq(packet.first.op == Op.ATOMIC),
            order.result.eq(self.done.payload.old),
        ]
        m.d.sync += self.holds.eq(order.catching_up)

    def _offer(self, m):
        """The mover's work and its question are those of the packet."""
        packet, entry = self._packet, self.answered.entry
        with m.If(packet.is_reply()):
            of_reply(m, self.work.payload, entry)
        with m.Else():
            of_request(m, self.work.payload, packet)
        of_fifo(m, self.fifo.value, packet, self.order.marked)
        m.d.comb += [
            self.result.buffer.eq(entry.buffer),
            self.result.wide.eq(entry.length == WIDE_BYTES),
            self.result.value.eq(packet.value),
        ]

    def _accesses(self, entry):
        """Return 1 if the packet reads or writes host memory. `entry` is the request that it answers, if it is a
        reply."""
        packet = self._packet
        data = (packet.first.op == Op.DATA) & (entry.op == Op.READ)
        if self.config.streams:
            data &= ~entry.stored  # what a load has read goes to the host
        return (packet.first.op == Op.WRITE) | (packet.first.op == Op.ATOMIC) | packet.appends | data

    def _answer_fits(self, m):
        """Return 1 if the packet, a reply with data, has as many as its request asked for. The number of words is
        registered, and stands in the slot after the packet's second word: before one with a third word is offered."""
        packet, entry, is_open = self._packet, self.answered.entry, self.answered.open
        was_open = Signal()
        words = Signal(LENGTH_BITS - 2 + 1)
        align = Mux(entry.op == Op.READ, entry.local_offset[:2], 0)
        m.d.sync += [was_open.eq(is_open), words.eq((entry.length + align + 3) >> 2)]
        empty = (entry.length == 0) & ((entry.op != Op.READ) | (entry.local_offset[:2] == 0))
        full = was_open & (packet.words == REPLY_WORDS + words)
        return ~is_open | Mux(packet.words == REPLY_WORDS, empty, full)

    def _look(self, m, answer_fits):
        """State REST: what is to be known of the packet when it is judged."""
        packet = self._packet
        m.d.sync += [
            self._sound.eq(packet.sound & ((packet.first.op != Op.DATA) | answer_fits) & self.enable),
            self._asked.eq(self._is_asked(m)),
            self._leaves.eq(self._says_other_boot()),
            self._newest.eq(~(packet.first.sequence - self.links.answered)[15]),
            self._relaxed.eq(relaxed(packet.first.op, packet.size.atomic)),
            self.wanted.eq(0),
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

    def _judge(self, m):
        packet, looked = self._packet, Signal()
        m.d.sync += looked.eq(self.work.valid)
        with m.State("JUDGE"):
            m.d.comb += [self.work.valid.eq(looked), self.i.ready.eq(~looked)]
            m.next = "REST"
            with m.If(looked):
                m.next = "MOVE"
            with m.If(~self._sound):
                m.d.comb += [self.malformed.eq(1), self.release.eq(1)]
            with m.Elif(packet.is_reply()):
                self._judge_reply(m)
            with m.Else():
                self._judge_request(m)

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
            m.d.comb += [self.keep.eq(1), self.resolve.eq(1)]
        with m.Elif((packet.first.op == Op.DATA) & (entry.op == Op.READ)):
            m.d.comb += self.release.eq(0)
            m.d.sync += self.wanted.eq(1)
            if self.config.streams:
                with m.If(entry.stored):  # no memory here is written: the host waits for the word
                    m.d.sync += self.loaded.eq(packet.loaded)
                    m.d.comb += [self.release.eq(1), self.resolve.eq(1)]
        with m.Else():
            m.d.comb += self.malformed.eq(1)

    def _judge_request(self, m):
        packet, order, reply = self._packet, self.order, self.replies.payload
        m.d.comb += self.release.eq(1)
        with m.If(~self.replies.ready):
            m.d.comb += self.no_room.eq(1)
        with m.Elif((order.place == Place.AHEAD) | ((order.place == Place.EARLY) & ~self._relaxed)):
            m.d.comb += self.ahead.eq(1)
        with m.Elif(order.place == Place.ABROAD):
            m.d.comb += [
                self.ahead.eq(1),
                self.replies.valid.eq(1),
                reply.status.eq(Status.SESSION),
                reply.reads.eq(0),
                reply.returns.eq(0),
            ]
        with m.Elif(order.place == Place.NEW):
            m.d.comb += [order.renew.eq(1), self.release.eq(0)]
        with m.Elif(order.place == Place.DUPLICATE):
            m.d.comb += [
                self.duplicate.eq(1),
                self.replies.valid.eq(1),
                reply.status.eq(order.status),
                reply.returns.eq((packet.first.op == Op.ATOMIC) & (order.status == Status.OK)),
                reply.value.eq(order.value[:32]),
            ]
            with m.If(packet.first.op == Op.ATOMIC):
                m.d.comb += reply.offset.eq(order.value[32:])
        with m.Elif((packet.first.op == Op.NOP) | (packet.first.op == Op.READ)):
            m.d.comb += self.served.eq(1)
            with m.If(packet.first.op == Op.NOP):
                m.d.comb += [reply.status.eq(Status.VOID), order.outcome.eq(Status.VOID)]
            self._finish(m)
        with m.Else():
            m.d.comb += self.release.eq(0)
            m.d.sync += self.wanted.eq(1)
            if self.config.match_cells:
                with m.If(packet.sends):
                    m.next = "SEND"
            if self.config.groups:
                with m.If(packet.first.op == Op.COLLECT):
                    m.d.comb += self.i.ready.eq(0)
                    m.next = "COLLECT"

    def _reply(self, m):
        packet, status, old = self._packet, self._status, self.done.payload.old
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
            reply.kept.eq(self.order.kept),
            reply.keeps.eq(self.order.keeps),
        ]
        if self.config.quiet:
            refused = (packet.first.op == Op.QUIET) & (status != Status.OK)
            m.d.comb += [
                reply.vouches.eq(self.order.vouches),
                # A NOP may stand for a QUIET request that could not be sent again.
                self.order.doubt.eq(refused | (packet.first.op == Op.NOP)),
            ]

    def _end(self, m):
        """Answer what was handed on and has been carried out, or was refused."""
        refused = self._status != Status.OK
        with m.If(self._ends):
            m.d.comb += self.release.eq(1)
            with m.If(self._packet.is_reply()):
                m.d.comb += [self.resolve.eq(1), self.resolution.eq(self._status)]
            with m.Else():
                m.d.comb += [
                    self.refused.eq(refused),
                    self.served.eq(~refused),
                    self.signalled.eq(~refused & self._packet.appends & self.done.payload.signals),
                ]
                self._finish(m)

    def _finish(self, m):
        """The request has been carried out, or has failed for good."""
        m.d.comb += [self.order.accept.eq(1), self.replies.valid.eq(1)]
        if self.config.quiet:
            quiet = (self._packet.first.op == Op.QUIET) & (self._status == Status.OK)
            m.d.comb += self.replies.valid.eq(~(quiet & self.order.vouches))
