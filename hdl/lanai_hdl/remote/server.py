"""Serves packets, and lets ends of commands take turns with them. What both do to host memory the mover does."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import BurstPort
from .access_work import AccessWork, flag_of, of_reply, of_request
from .entries import reply_shape
from .grouping import Grouping, group_members
from .links import LinkPort
from .lookup_port import LookupPort
from .match_slots import SlotWrite
from .match_stage import MatchStage
from .matching import Matching
from .mover import Mover
from .packet_buffers import packet_members
from .packet_check import PacketCheck
from .packet_header import MOST_WORDS, PacketHeader
from .packets import (
    BOOT_BITS,
    REPLY_WORDS,
    REQUEST_WORDS,
    SESSION_BITS,
    WIDE_BYTES,
    Op,
    Status,
    conditional,
    fails_bound,
    relaxed,
)
from .parameters import RemoteParameters
from .receive_order import ReceiveOrder
from .sequencer import INDEX_BITS, EntryRead

EVENTS = ("served", "atomic", "refused", "duplicate", "ahead", "stale", "malformed", "no_room", "signalled")


class PacketServer(PacketCheck, Matching, Grouping, wiring.Component):
    """One thing at a time: a packet, or the end of a request. It waits for the mover, and for
    nothing else.

    A request that finds no space for its reply is dropped: its sender will send it again. So what
    arrives never waits for what is to be sent.

    Members
    -------
    full, words, arriving, come, release, index, word : of `PacketBuffers`
    lookup, bus : its ways to host memory
    replies : ``Out(stream)``
    answered, answered_run, resolve, resolution, ended, left, left_peer : of `Sequencer`; its `again` is `links.learn`
    links : of `Links`
    own_session, own_boot : ``In``, of this NIC
    serve_end, flag : of `Completion`
    slots : of `MatchStage`, with `config.match_cells`
    contribution, allowed, arrives, group_ended : of `Collect`, with `config.groups`
    loaded : ``Out(32)``, the word of a load
    enable : ``In(1)``; without it every packet is dropped
    changed : ``In(1)``, a page or an exposure of any process is written
    served, atomic, ... : ``Out(1)``, a slot's events, as the counters of these names
    busy : ``Out(1)``, a packet is served or a command ended
    ready_next, idle : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        self.stage = MatchStage(config) if config.match_cells else None
        super().__init__(
            {
                **({"slots": In(SlotWrite())} if config.match_cells else {}),
                **{name: member.flip() for name, member in packet_members(config).items()},
                "lookup": Out(LookupPort()),
                "bus": Out(BurstPort()),
                "replies": Out(stream.Signature(reply_shape(config))),
                **(group_members() if config.groups else {}),
                "answered": Out(EntryRead(config)),
                **({"answered_run": In(INDEX_BITS)} if config.quiet else {}),
                "resolve": Out(1),
                "resolution": Out(Status),
                "ended": In(1),
                "left": Out(1),
                "left_peer": Out(8),
                "links": Out(LinkPort()),
                "own_session": In(SESSION_BITS),
                "own_boot": In(BOOT_BITS),
                "serve_end": Out(1),
                "flag": In(stream.Signature(AccessWork)),
                "loaded": Out(32),
                "enable": In(1),
                "changed": In(1),
                **{name: Out(1) for name in EVENTS},
                "ready_next": Out(1),
                "busy": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.order = self._order = ReceiveOrder(self.config)
        m.submodules.mover = self._mover = Mover(self.config)
        self._registers()
        self._connect(m)
        self._connect_mover(m)
        self._packet.register_appends(m, self.config)
        self._packet.register_answer(m, self.answered.open, self.answered.entry)
        self._reply(m)
        m.d.comb += [self.busy.eq(1), self._mover.fifo.asked.eq(1)]
        if self.stage is not None:
            m.submodules.stage = self.stage
            self._connect_stage(m)
        if self.config.groups:
            self._connect_groups(m)
        with m.FSM():
            self._serve(m)
            self._move(m)
            self._serve_end(m)
            if self.stage is not None:
                self._match(m)
            if self.config.groups:
                self._serve_groups(m)
        return m

    def _registers(self):
        self._packet = PacketHeader()
        self._ends = Signal()  # the mover's work is the end of a command
        self._wanted = Signal()  # what was offered to the mover is to be carried out
        self._asked = Signal()  # an open request waited for the packet, a reply, in the slot before
        self._leaves = Signal()  # the packet, a reply, says that its sender is not in the session's boot
        self._newest = Signal()  # the packet, a reply, answers no older request than the last one did
        self._relaxed = Signal()  # the packet, a request, may take effect out of turn
        self._catching_up = Signal()  # of the order, in the slot before: the packet's place does not stand yet
        self._at = Signal.like(self.index)
        self._turn = Signal()  # the end of a command is next, if one has ended
        self._status = self._mover.o.payload.status
        if self.stage is not None:
            self._status = Signal(Status)
            self._asks = Signal()  # what a process has asked is served, and no packet
            self._ask_turn = Signal()  # ... is next, if something has been asked

    def _connect(self, m):
        """Packet and command to the units that work on them."""
        packet, order, links = self._packet, self._order, self.links
        first = packet.first
        m.d.comb += [
            self.ready_next.eq(order.ready_next),
            links.source.eq(first.source),
            links.sequence.eq(first.sequence),
            links.answer.eq(self.resolve & self._newest),
            links.boot.eq(packet.answer.own_boot),
            links.kept.eq(packet.answer.kept),
            links.keeps.eq(packet.answer.keeps),
            self.left_peer.eq(first.source),
            order.source.eq(first.source),
            order.session.eq(packet.target.session),
            order.boot.eq(packet.size.boot),
            order.own_session.eq(self.own_session),
            order.own_boot.eq(self.own_boot),
            order.sequence.eq(first.sequence),
            order.owner.eq(packet.size.process),
            order.outcome.eq(self._status),
            order.mark.eq(fails_bound(first.op, packet.size.atomic, self._status)),
            order.unmark.eq(conditional(first.op, packet.size.atomic)),
            order.atomic.eq(first.op == Op.ATOMIC),
            order.result.eq(self._mover.o.payload.old),
            self.answered.index.eq(packet.answer.entry),
            self.index.eq(self._at),
        ]

    def _connect_mover(self, m):
        """The mover's work: that of the packet, or of the end of a command."""
        packet, mover, entry = self._packet, self._mover, self.answered.entry
        wiring.connect(m, mover.lookup, wiring.flipped(self.lookup))
        wiring.connect(m, mover.bus, wiring.flipped(self.bus))
        with m.If(self._ends):
            m.d.comb += mover.i.payload.eq(self.flag.payload)
        with m.Elif(packet.is_reply()):
            of_reply(m, mover.i.payload, entry)
        with m.Else():
            of_request(m, mover.i.payload, packet)
        m.d.comb += [
            mover.wanted.eq(self._wanted),
            mover.changed.eq(self.changed),
            mover.words.payload.eq(self.word),
            mover.fifo.exposure.eq(packet.target.exposure),
            mover.fifo.offset.eq(packet.offset),
            mover.fifo.length.eq(packet.size.length),
            mover.fifo.retry.eq(packet.first.op == Op.RETRY),
            mover.fifo.barred.eq(conditional(packet.first.op, packet.size.atomic) & self._order.marked),
            mover.result.buffer.eq(entry.buffer),
            mover.result.wide.eq(entry.length == WIDE_BYTES),
            mover.result.value.eq(packet.value),
            mover.flag_of.eq(flag_of(self.flag.payload)),
            self.atomic.eq(mover.atomic),
        ]
        with m.If(mover.words.ready):  # the packet's next word stands on `word` in the next slot
            m.d.comb += self.index.eq(self._at + 1)
            m.d.sync += self._at.eq(self._at + 1)

    def _serve(self, m):
        """A packet: its words are taken, as they arrive if nothing else is to be done; its form is
        checked, and it is judged. It is offered to the mover with the check."""
        packet, mover = self._packet, self._mover
        arrived = Signal.like(self.index)
        well_formed, looks = Signal(), Signal()
        settled = self._settle(m, arrived)
        m.d.sync += [arrived.eq(self.index), self._catching_up.eq(self._order.catching_up)]
        with m.State("IDLE"):
            at_rest = ~self.full & ~self.ended & ~self.arriving & ~self._order.catching_up
            if self.stage is not None:
                at_rest &= self.stage.idle
            m.d.comb += [self.idle.eq(at_rest), self.busy.eq(0)]
            m.d.comb += mover.fifo.asked.eq(0)
            m.d.sync += [self._at.eq(0), self._ends.eq(1)]
            with m.If(self.full & ~(self._turn & self.ended)):
                m.d.sync += self._turn.eq(1)
                m.next = "WORDS"
            with m.Elif(self.ended):
                m.next = "END"
            with m.Elif(self.arriving):
                m.next = "WORDS"
            if self.stage is not None:
                self._serve_slots(m)
            if self.config.groups:
                self._tell_group(m)
        with m.State("WORDS"):
            here = self.full | (self._at < self.come)  # the word that is asked for
            m.d.comb += self.busy.eq(0)
            packet.take(m, arrived, self.word)
            with m.If(here & (self._at != MOST_WORDS)):
                m.d.sync += self._at.eq(self._at + 1)
            with m.If(self.full):
                taken = (self._at >= self.words) | (self._at == MOST_WORDS)
                with m.If(taken & (settled | ~packet.appends) & ~self._catching_up):
                    m.d.sync += self._ends.eq(0)
                    m.next = "FORM"
            gives_way = self.ended | ~self.arriving | (self.come < self._at)
            if self.stage is not None:
                gives_way |= self.stage.waits
            if self.config.groups:
                gives_way |= self.group_ended.valid
            with m.Elif(gives_way):
                m.next = "IDLE"
        with m.State("FORM"):
            answers = self.answered
            sound = packet.well_formed(self.config, self.words, answers.open, answers.entry)
            m.d.comb += mover.i.valid.eq(packet.accesses(self.config, answers.entry))
            if self.stage is not None:
                m.d.comb += self.stage.looks.eq(packet.sends)
                m.d.sync += self._ask_turn.eq(1)
            m.d.sync += [well_formed.eq(sound & self.enable), looks.eq(mover.i.valid), self._turn.eq(1)]
            m.d.sync += [self._asked.eq(self._is_asked(m)), self._leaves.eq(self._says_other_boot())]
            m.d.sync += self._newest.eq(~(packet.first.sequence - self.links.answered)[15])
            m.d.sync += self._relaxed.eq(relaxed(packet.first.op, packet.size.atomic))
            m.d.sync += self._wanted.eq(0)
            m.next = "JUDGE"
        with m.State("JUDGE"):
            in_requests = ~packet.is_reply() & ~packet.appends
            m.d.comb += mover.i.valid.eq(looks)
            m.d.sync += self._at.eq(Mux(in_requests, REQUEST_WORDS, REPLY_WORDS))
            m.next = "IDLE"
            with m.If(looks):
                m.next = "MOVE"
            with m.If(~well_formed):
                m.d.comb += [self.malformed.eq(1), self.release.eq(1)]
            with m.Elif(packet.is_reply()):
                self._judge_reply(m)
            with m.Else():
                self._judge_request(m)

    def _settle(self, m, arrived):
        """Return 1 if the answers for the FIFO of an APPEND are valid in the next slot: its offset was
        taken three slots ago, or before."""
        offset_taken, before = (arrived >= REQUEST_WORDS) & (arrived <= MOST_WORDS), Signal(2)
        m.d.sync += before.eq(Mux(offset_taken, Cat(1, before[0]), 0))
        return offset_taken & before.all()

    def _serve_end(self, m):
        """The end of the oldest request. If it was its command's last, the flag is written."""
        with m.State("END"):
            m.d.comb += [self.serve_end.eq(1), self._mover.i.valid.eq(self.flag.valid)]
            m.d.sync += [self._turn.eq(0), self._wanted.eq(1)]
            m.next = "IDLE"
            with m.If(self.flag.valid):
                m.next = "MOVE"

    def _move(self, m):
        """The mover takes its work: it was carried out, or was not wanted."""
        mover, packet = self._mover, self._packet
        with m.State("MOVE"):
            m.d.comb += [mover.i.valid.eq(1), mover.judged.eq(1)]
            with m.If(mover.i.ready):
                m.next = "IDLE"
            with m.If(mover.o.valid):
                refused = self._status != Status.OK
                with m.If(self._ends):
                    m.d.comb += [self.flag.ready.eq(1), self.refused.eq(refused)]
                with m.Elif(packet.is_reply()):
                    m.d.comb += [self.release.eq(1), self.resolve.eq(1), self.resolution.eq(self._status)]
                with m.Else():
                    m.d.comb += [
                        self.release.eq(1),
                        self.refused.eq(refused),
                        self.served.eq(~refused),
                        self.signalled.eq(self.served & packet.appends & mover.o.payload.signals),
                    ]
                    self._finish(m)
