"""Serves packets, and lets ends of commands take turns with them. What both do to host memory the mover does."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import BurstPort
from .access_work import FLAG_LEAD, AccessWork, of_group_end
from .collect_parts import Contribution, GroupEnd
from .command_queue import BUFFER_BITS
from .entries import reply_shape
from .links import LinkPort
from .lookup_port import LookupPort
from .match_slots import SlotWrite
from .match_stage import RECORD_AT, MatchStage
from .messages import Again
from .mover import Mover
from .packet_buffers import packet_members
from .packets import BOOT_BITS, SESSION_BITS, Status
from .parameters import RemoteParameters
from .parse import Parse
from .sequencer import INDEX_BITS, EntryRead
from .timed import Ahead, join
from .transport import EVENTS as TRANSPORT_EVENTS
from .transport import Transport

EVENTS = (*TRANSPORT_EVENTS, "atomic")


def group_members():
    """The ports to `Collect`."""
    ended = stream.Signature(GroupEnd)
    return {"contribution": Out(Contribution), "allowed": In(1), "arrives": Out(1), "group_ended": In(ended)}


class PacketServer(wiring.Component):
    """Parses a packet (`Parse`), judges it (`Transport`) and lets the mover do what it asks for (`Mover`), one after
    the other. Ends of requests, what processes ask of the match stage, and ends of collectives take turns with
    packets at the mover. Nothing waits for anything but the mover.

    Members
    -------
    full, words, arriving, come, release, index, word : of `PacketBuffers`
    lookup, bus : the mover's ways to host memory
    replies, answered, answered_run, resolve, resolution, left, left_peer, links, own_session, own_boot, enable,
        loaded : of `Transport`
    ended : of `Sequencer`
    serve_end, flag_of, flag : of `Completion`
    slots : of `MatchStage`, with `config.match_cells`
    contribution, allowed, arrives, group_ended : of `Collect`, with `config.groups`
    changed : ``In(1)``, a page or an exposure of any process is written
    served, atomic, ... : ``Out(1)``, a slot's events, as the counters of these names
    busy : ``Out(1)``, a packet is served or a command ended
    ready_next, idle : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        self.parse, self.transport, self.mover = Parse(config), Transport(config), Mover(config)
        self.stage = MatchStage(config) if config.match_cells else None
        super().__init__(
            {
                **({"slots": In(SlotWrite())} if config.match_cells else {}),
                **{name: member.flip() for name, member in packet_members(config).items()},
                "lookup": Out(LookupPort()),
                "bus": Out(BurstPort()),
                "replies": Out(stream.Signature(reply_shape(config))),
                **(group_members() if config.groups else {}),
                "answered": Out(EntryRead(config, 0)),
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
                "flag_of": In(Ahead(BUFFER_BITS, FLAG_LEAD)),
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
        m.submodules.parse, m.submodules.transport, m.submodules.mover = self.parse, self.transport, self.mover
        self._turn = Signal()  # the end of a command is next, if one has ended
        self._ask_turn = Signal()  # what a process has asked, or the end of a collective, is next
        self._asks = Signal()  # the match stage serves what a process has asked, and no packet
        self._flags = Signal()  # the end of a command is served
        m.d.comb += self.busy.eq(1)
        self._connect_packets(m)
        self._connect_mover(m)
        if self.stage is not None:
            m.submodules.stage = self.stage
            self._connect_stage(m)
        if self.config.groups:
            self._connect_groups(m)
        with m.FSM():
            with m.State("TURN"):
                m.d.comb += self.busy.eq(self.transport.i.valid)
                with m.If(self.parse.rests):
                    self._choose(m)
            with m.State("END"):
                m.d.comb += [self.serve_end.eq(1), self._flags.eq(1)]
                m.d.sync += self._turn.eq(0)
                m.next = "TURN"
                with m.If(self.flag.valid):
                    m.next = "FLAG"
            with m.State("FLAG"):
                m.d.comb += self._flags.eq(1)
                with m.If(self.flag.ready):
                    m.d.comb += self.refused.eq(self.mover.o.payload.status != Status.OK)
                    m.next = "TURN"
            if self.stage is not None:
                with m.State("ASK"):
                    m.d.comb += self._asks.eq(1)
                    with m.If(self.stage.done):
                        m.next = "TURN"
            if self.config.groups:
                self._pass(m)
        return m

    def _choose(self, m):
        """State TURN: packets and ends of commands take turns. So do both with what processes ask, and with ends of
        collectives. A packet is taken while it arrives if there is nothing else."""
        parse, is_next = self.parse, self.full & ~(self._turn & self.ended)
        at_rest = ~self.full & ~self.ended & ~self.arriving & self.transport.idle
        m.d.comb += self.idle.eq(at_rest if self.stage is None else at_rest & self.stage.idle)
        with m.If(is_next):
            m.d.sync += self._turn.eq(1)
        m.d.comb += parse.begins.eq(is_next | (~self.ended & self.arriving))
        with m.If(~is_next & self.ended):
            m.next = "END"
        if self.stage is not None:
            with m.If(self.stage.waits & (self._ask_turn | ~(self.full | self.ended))):
                m.d.comb += [self.stage.serve.eq(1), parse.begins.eq(0)]
                m.d.sync += self._ask_turn.eq(0)
                m.next = "ASK"
        if self.config.groups:
            with m.If(self.group_ended.valid & (self._ask_turn | ~(self.full | self.ended | self.stage.waits))):
                m.d.comb += [self.stage.serve.eq(0), parse.begins.eq(0)]
                m.d.sync += self._ask_turn.eq(0)
                m.next = "PASS"

    def _connect_packets(self, m):
        """Packets from the buffers to the transport, and what that asks the sequencer and the links."""
        parse, transport = self.parse, self.transport
        wiring.connect(m, parse.o, transport.i)
        for name in ("full", "words", "arriving", "come", "word"):
            m.d.comb += getattr(parse, name).eq(getattr(self, name))
        for name in ("own_session", "own_boot", "enable", *(("answered_run",) if self.config.quiet else ())):
            m.d.comb += getattr(transport, name).eq(getattr(self, name))
        for name in ("release", "resolve", "resolution", "left", "left_peer", "loaded", *TRANSPORT_EVENTS):
            m.d.comb += getattr(self, name).eq(getattr(transport, name))
        join(m, transport.answered, wiring.flipped(self.answered))
        for name in ("replies", "links"):
            wiring.connect(m, getattr(transport, name), wiring.flipped(getattr(self, name)))
        m.d.comb += [
            self.index.eq(parse.index),
            self.ready_next.eq(transport.ready_next),
            parse.holds.eq(transport.holds),
            parse.yields.eq(self.ended),
        ]
        with m.If(transport.looks):
            m.d.sync += [self._turn.eq(1), self._ask_turn.eq(1)]

    def _connect_mover(self, m):
        """The mover's work: that of the packet, or of the end of a command."""
        mover, parse, transport, done = self.mover, self.parse, self.transport, self.transport.done
        others = ~transport.i.valid  # the mover has no packet
        wiring.connect(m, mover.lookup, wiring.flipped(self.lookup))
        wiring.connect(m, mover.bus, wiring.flipped(self.bus))
        wiring.connect(m, parse.data, mover.words)
        join(m, transport.fifo, mover.fifo)
        join(m, wiring.flipped(self.flag_of), mover.flag_of)
        m.d.comb += [
            mover.i.valid.eq(transport.work.valid | (self.flag.valid & self._flags)),
            mover.i.payload.eq(Mux(others, self.flag.payload, transport.work.payload)),
            mover.judged.eq(others | transport.judged),
            mover.wanted.eq(others | transport.wanted),
            transport.work.ready.eq(mover.i.ready),
            self.flag.ready.eq(mover.i.ready & self._flags),
            mover.takes.eq(~parse.rests),
            mover.changed.eq(self.changed),
            mover.result.eq(transport.result),
            mover.keep.eq(transport.keep),
            done.valid.eq(mover.o.valid),
            done.payload.eq(mover.o.payload),
            self.atomic.eq(mover.atomic),
        ]

    def _connect_stage(self, m):
        """The stage says what the mover does for a SEND, or for what a process asks."""
        packet, mover, stage, transport = self.parse.o.payload, self.mover, self.stage, self.transport
        message, done = stage.message, transport.done
        wiring.connect(m, wiring.flipped(self.slots), stage.slots)
        m.d.comb += [
            message.owner.eq(packet.target.exposure >> len(message.exposure)),
            message.exposure.eq(packet.target.exposure),
            message.key.eq(packet.target.key),
            message.size.eq(packet.size),
            message.envelope.eq(packet.offset),
            message.header.eq(packet.operand),
            message.again.eq(packet.size.atomic == Again.AGAIN),
            stage.looks.eq(transport.looks & packet.sends),
            stage.sends.eq(transport.sends),
            stage.did.valid.eq(mover.o.valid),
            stage.did.payload.eq(mover.o.payload),
            stage.work.ready.eq(mover.i.ready),
            stage.checked.eq(self.lookup.status),
            stage.renews.eq(transport.renews),
            stage.source.eq(packet.first.source),
            mover.own.eq(stage.own),
            mover.tells.eq(stage.tells),
            mover.told.eq(stage.told),
            self.parse.yields.eq(self.ended | stage.waits),
            self.parse.rewinds.eq(stage.rewinds),
            self.parse.word_at.eq(stage.word_at),
        ]
        with m.If(self._asks | (transport.i.valid & packet.sends)):
            m.d.comb += mover.i.payload.eq(stage.work.payload)
        with m.If(self._asks | transport.sends):
            m.d.comb += [
                mover.i.valid.eq(stage.work.valid),
                mover.judged.eq(stage.judged),
                mover.wanted.eq(stage.wanted),
            ]
        with m.If(transport.sends):
            m.d.comb += [
                done.valid.eq(stage.done),
                done.payload.status.eq(stage.status),
                done.payload.signals.eq(stage.signals),
            ]
        with m.If(stage.records & (self.parse.at == RECORD_AT)):
            m.d.comb += mover.words.payload.eq(stage.record)

    def _connect_groups(self, m):
        packet, came, done = self.parse.o.payload, self.contribution, self.transport.done
        m.d.comb += [
            came.owner.eq(packet.target.exposure >> len(self.stage.message.exposure)),
            came.place.eq(packet.offset),
            came.node.eq(packet.size.node),
            came.process.eq(packet.size.process),
            came.value.eq(Cat(packet.operand[:32], packet.comparand[:32])),
            self.parse.yields.eq(self.ended | self.stage.waits | self.group_ended.valid),
        ]
        with m.If(self.transport.collects):
            m.d.comb += [
                self.arrives.eq(self.allowed),
                done.valid.eq(1),
                done.payload.status.eq(Mux(self.allowed, Status.OK, Status.RIGHT)),
            ]

    def _pass(self, m):
        """The end of a collective."""
        mover, end = self.mover, self.group_ended
        with m.State("PASS"):
            of_group_end(m, mover.i.payload, end.payload)
            m.d.comb += [
                mover.i.valid.eq(1),
                mover.own.eq(0),
                mover.tells.eq(1),
                mover.told.eq(end.payload.value),
                end.ready.eq(mover.i.ready),
            ]
            with m.If(mover.i.ready):
                m.next = "TURN"
