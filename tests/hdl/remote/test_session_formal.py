"""Two nodes over any wire, of which either may be reset: each request is carried out at most once and in
order, unless both are RELAXED, and none ends well that was not carried out. Bounded."""

import pytest
from amaranth import Array, Assert, Cat, Module, Mux, ResetInserter, Signal
from amaranth.asserts import AnySeq
from amaranth.lib import data, wiring

from lanai_hdl.remote import receive_order, sequencer
from lanai_hdl.remote.cleared_memory import ClearedMemory
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.links import Links, SessionName
from lanai_hdl.remote.packets import BOOT_BITS, SESSION_BITS, Op, Status, boot_code
from lanai_hdl.remote.receive_order import Place, ReceiveOrder
from lanai_hdl.remote.sequencer import Sequencer

CONFIG = Remote(processes=1, peers=1, pages=2, payload=16)
OUTSTANDING, INDEX_BITS = 2, 1  # requests
STANDS = 2  # slots until a place can be relied on
DEPTH = 14


class Request(data.Struct):
    """The content of a request. `watched`, for the proof: it is that of the command that is watched, or of
    the one behind it."""

    named: SessionName
    sequence: 16
    entry: INDEX_BITS
    watched: 2
    relaxed: 1


class Answer(data.Struct):
    """The content of a reply."""

    named: SessionName
    sequence: 16
    entry: INDEX_BITS
    status: Status
    own_boot: BOOT_BITS
    kept: SESSION_BITS
    keeps: 1


class ClearFromTheStart(ClearedMemory):
    """It does not take the slots of clearing, which a bounded proof would spend on nothing."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.ready = Signal(init=1)


class Wire(wiring.Component):
    """Remembers the last packets, and gives any of them at any time: so it loses, doubles and reorders
    them, and what was sent before a reset comes after it."""

    def __init__(self, shape, depth):
        self.shape, self.depth = shape, depth
        self.i, self.sends = Signal(shape), Signal()
        self.o, self.comes = Signal(shape), Signal()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        packets = Array(Signal(self.shape, name=f"packet_{n}") for n in range(self.depth))
        full = Signal(self.depth)
        put, take = (AnySeq(1) if self.depth == 2 else 0 for _ in range(2))
        with m.If(self.sends):
            m.d.sync += [packets[put].eq(self.i), full.bit_select(put, 1).eq(1)]
        m.d.comb += [self.o.eq(packets[take]), self.comes.eq(full.bit_select(take, 1) & AnySeq(1))]
        return m


class Receiver(wiring.Component):
    """A `ReceiveOrder`, and what `Transport` does with it: one request at a time, any time long."""

    def __init__(self, boot):
        self.order = ReceiveOrder(CONFIG)
        self.boot = boot
        self.alive = Signal()
        self.request, self.comes = Signal(Request), Signal()
        self.answer, self.answers = Signal(Answer), Signal()
        self.accepted, self.serving = Signal(), Signal(Request)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.order = dut = self.order
        busy, stands, now = Signal(), Signal(range(STANDS + 1)), self.serving
        m.d.comb += [
            dut.source.eq(0),
            dut.sequence.eq(now.sequence),
            dut.session.eq(now.named.session),
            dut.boot.eq(now.named.boot),
            dut.own_session.eq(self.boot),
            dut.own_boot.eq(boot_code(self.boot)),
            self.answer.named.eq(now.named),
            self.answer.sequence.eq(now.sequence),
            self.answer.entry.eq(now.entry),
            self.answer.own_boot.eq(boot_code(self.boot)),
            self.answer.kept.eq(dut.kept),
            self.answer.keeps.eq(dut.keeps),
        ]
        ends = Signal()
        m.d.comb += ends.eq(busy & self.alive & (stands == STANDS) & ~dut.catching_up & AnySeq(1))
        with m.If(stands != STANDS):
            m.d.sync += stands.eq(stands + 1)
        with m.If(~busy & self.alive & self.comes):
            m.d.sync += [busy.eq(1), now.eq(self.request), stands.eq(0)]
        with m.If(ends):
            m.d.sync += busy.eq(0)
            with m.Switch(dut.place):
                with m.Case(Place.NEXT):
                    m.d.comb += [dut.accept.eq(1), self.answers.eq(1)]
                with m.Case(Place.EARLY):
                    m.d.comb += [dut.accept.eq(now.relaxed), self.answers.eq(now.relaxed)]
                with m.Case(Place.DUPLICATE):
                    m.d.comb += [self.answers.eq(1), self.answer.status.eq(dut.status)]
                with m.Case(Place.ABROAD):
                    m.d.comb += [self.answers.eq(1), self.answer.status.eq(Status.SESSION)]
                with m.Case(Place.NEW):
                    m.d.comb += dut.renew.eq(1)
                    m.d.sync += [busy.eq(1), stands.eq(0)]
        m.d.comb += self.accepted.eq(dut.accept)
        return m


class Sender(wiring.Component):
    """A `Sequencer` and its `Links`, and what `PacketSender` and `Transport` do with them: a request
    gets what it names and leaves some time after it was chosen; a reply is judged in the slot in which
    it comes. `watched`: the commands that are watched and whose entry is chosen next."""

    def __init__(self):
        self.watched = Signal(2)
        self.sequencer, self.links = Sequencer(CONFIG), Links(CONFIG)
        self.request, self.sends = Signal(Request), Signal()
        self.answer, self.comes = Signal(Answer), Signal()
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.sequencer, m.submodules.links = self.sequencer, self.links
        self._admit(m)
        making = self._send(m)
        self._judge(m)
        sequencer, links = self.sequencer, self.links
        m.d.comb += [
            links.quiet.eq(sequencer.quiet & ~making & ~self.comes),
            sequencer.opening.eq(links.opening),
            sequencer.opens.eq(links.opens),
            sequencer.again.eq(links.port.learn),
        ]
        return m

    def _admit(self, m):
        sequencer, links = self.sequencer, self.links
        m.d.comb += [
            sequencer.i.valid.eq(AnySeq(1)),
            sequencer.i.payload.entry.op.eq(Op.WRITE),
            sequencer.i.payload.entry.atomic.eq(AnySeq(1)),  # RELAXED or IN_TURN
            sequencer.retire.eq(sequencer.ended & AnySeq(1)),
            sequencer.timeout.eq(0),
            sequencer.retries.eq(AnySeq(1)),
            links.open.eq(AnySeq(1) & ~links.opening),
        ]

    def _send(self, m):
        """The entry is taken in the slot after it was chosen. The packet leaves then or later, and names
        what it then names."""
        sequencer, request = self.sequencer, self.request
        making, takes, index = Signal(), Signal(), Signal(INDEX_BITS)
        sequence, order, watched = Signal(16), Signal(), Signal(2)
        m.d.sync += takes.eq(0)
        m.d.comb += [
            sequencer.send.ready.eq(~making & AnySeq(1)),
            sequencer.sent.index.eq(sequencer.send.payload),
            request.named.eq(self.links.named),
            request.sequence.eq(Mux(takes, sequencer.sent.entry.sequence, sequence)),
            request.relaxed.eq(Mux(takes, sequencer.sent.entry.atomic[0], order)),
            request.entry.eq(index),
            request.watched.eq(watched),
            self.sends.eq(making & AnySeq(1)),
        ]
        with m.If(sequencer.send.valid & sequencer.send.ready):
            m.d.sync += [index.eq(sequencer.send.payload), watched.eq(self.watched), making.eq(1), takes.eq(1)]
        with m.If(takes):
            m.d.sync += [sequence.eq(sequencer.sent.entry.sequence), order.eq(sequencer.sent.entry.atomic)]
        with m.If(self.sends):
            m.d.sync += making.eq(0)
        return making

    def _judge(self, m):
        """Judge replies to writes as `Transport` does."""
        sequencer, answer, port = self.sequencer, self.answer, self.links.port
        of_session = answer.named.as_value() == port.named.as_value()
        leaves, unknown = (answer.status == Status.SESSION) & of_session, port.named.boot == 0
        entry, ahead = sequencer.answered.entry, (answer.sequence - port.answered)[:16]
        in_turn = (entry.sequence == answer.sequence) & ((ahead == 0) | entry.atomic[0])
        m.d.comb += [
            sequencer.answered.index.eq(answer.entry),
            port.sequence.eq(answer.sequence),
            port.boot.eq(answer.own_boot),
            port.kept.eq(answer.kept),
            port.keeps.eq(answer.keeps),
            port.learn.eq(self.comes & leaves & unknown),
            sequencer.left.eq(self.comes & leaves & ~unknown),
            sequencer.resolve.eq(self.comes & ~leaves & sequencer.answered.open & of_session & in_turn),
            sequencer.resolution.eq(answer.status),
            port.answer.eq(sequencer.resolve & ~ahead[15]),
        ]


class SessionSpec(wiring.Component):
    """A sender, a receiver, and wires both ways. Any commands, timeouts and new sessions; the sender is
    reset in any slots, or the receiver is in one. Two commands are watched, the second begun behind the first.

    The receiver before its reset and the one behind it are two, of which one is alive at a time.
    """

    def __init__(self, *, resets_sender, alone):
        self.resets_sender = resets_sender
        self.alone = alone
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        reset = Signal()
        sender = Sender()
        m.submodules.sender = ResetInserter(reset)(sender)
        m.submodules.there, m.submodules.back = there, back = Wire(Request, 2), Wire(Answer, 1)
        receivers = Receiver(1), Receiver(2)
        m.submodules.first, m.submodules.second = receivers
        second = Signal()
        if self.resets_sender:
            m.d.comb += reset.eq(AnySeq(1))
        else:
            with m.If(AnySeq(1)):
                m.d.sync += second.eq(1)
        m.d.comb += [
            receivers[0].alive.eq(~second),
            receivers[1].alive.eq(second),
            sender.links.alone.eq(self.alone),
            there.i.eq(sender.request),
            there.sends.eq(sender.sends & ~reset),
            sender.answer.eq(back.o),
            sender.comes.eq(back.comes),
            back.i.eq(Mux(second, receivers[1].answer.as_value(), receivers[0].answer.as_value())),
            back.sends.eq(receivers[0].answers | receivers[1].answers),
        ]
        for receiver in receivers:
            m.d.comb += [receiver.request.eq(there.o), receiver.comes.eq(there.comes)]
        self._watch(m, sender, receivers, reset)
        return m

    def _watch(self, m, sender, receivers, reset):
        sequencer = sender.sequencer
        at, tail = Signal(INDEX_BITS), Signal(INDEX_BITS)  # where the next command goes, and the oldest
        admitted = sequencer.i.valid & sequencer.i.ready & ~reset
        with m.If(admitted):
            m.d.sync += at.eq(at + 1)
        with m.If(sequencer.retire):
            m.d.sync += tail.eq(tail + 1)
        with m.If(reset):
            m.d.sync += [at.eq(0), tail.eq(0)]
        done, chosen, relaxed = Signal(2), Signal(2), Signal(2)
        for n in range(2):
            place, open_ = Signal(INDEX_BITS, name=f"place_{n}"), Signal(name=f"open_{n}")
            with m.If(admitted & AnySeq(1) & ~chosen[n] & (chosen[0] if n else 1)):
                m.d.sync += [place.eq(at), open_.eq(1), chosen[n].eq(1)]
                m.d.sync += relaxed[n].eq(sequencer.i.payload.entry.atomic)
            with m.If(reset | (open_ & sequencer.retire & (tail == place))):
                m.d.sync += open_.eq(0)
            m.d.comb += sender.watched[n].eq(open_ & (sequencer.send.payload == place))
            accepts = Cat(one.accepted & one.serving.watched[n] for one in receivers).any()
            with m.If(accepts):
                m.d.sync += done[n].eq(1)
            m.d.comb += Assert(~(accepts & done[n]), "carried out twice")
            if n == 0:
                m.d.comb += Assert(~(accepts & done[1]) | relaxed.all(), "carried out behind the command behind it")
            resolved = sequencer.resolve & ~reset & (sequencer.answered.index == place)
            ends_well = open_ & resolved & (sequencer.resolution == Status.OK)
            m.d.comb += Assert(~ends_well | done[n] | accepts, "ended well, and was not carried out")


@pytest.mark.by_hand
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("resets_sender", [True, False])
def test_what_ends_well_was_carried_out_once_and_in_order(prove, monkeypatch, resets_sender, alone):
    monkeypatch.setattr(receive_order, "ClearedMemory", ClearFromTheStart)
    monkeypatch.setattr(sequencer, "WINDOW", OUTSTANDING)
    monkeypatch.setattr(sequencer, "INDEX_BITS", INDEX_BITS)
    prove(SessionSpec(resets_sender=resets_sender, alone=alone), mode="bmc", depth=DEPTH)
