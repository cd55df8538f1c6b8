"""One end of a link of the barrier tree: sends the other end its bits, whatever the wire loses."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..run_time import up_to
from .csr import BITS
from .flit import BarrierKind, BarrierState, ControlFlit, ControlPort, check_of

TRIES = 15  # times that a state is sent again


def timeout(config: NicConfig) -> int:
    """Slots without an acknowledgement until a state is sent again: more than both ways of the link
    take, and the flits before it."""
    return 4 * config.link_latency + 64 + 8 * config.flit_slots


class BarrierEnd(wiring.Component):
    """Keeps the other end informed of `mine`, and knows what the other end said last.

    A state that differs from the one before is sent as STATE, with the next number. The other end
    sends it back as ACK. The next state is sent only then. Without an ACK a state is sent again,
    TRIES times; then the end is `lost`, and sends nothing more until it is reset. A flit that is
    damaged, doubled or older than the last one changes nothing. When the carrier goes, the state is
    sent anew. So both ends agree again after any loss, or one of them knows that they do not.

    Reset begins a new state. It keeps numbers and what the other end said, because the other end
    is not reset with it.

    Parameters
    ----------
    timeout : slots until a state is sent again
    bits : how many there are

    Members
    -------
    mine, failed : ``In``, what the other end shall know
    theirs, theirs_failed : ``Out``, what the other end said last
    received : control flits that come
    o : control flits to send
    lost : ``Out(1)``, the other end has not answered
    resent, damaged : ``Out(1)``, a state is sent again; a flit was dropped
    idle : ``Out(1)``: nothing changes until an input does
    """

    def __init__(self, timeout: int, bits: int = BITS, tries: int = TRIES):
        self._timeout = timeout
        self._bits = bits
        self._tries = tries
        super().__init__(
            {
                "mine": In(bits),
                "failed": In(1),
                "theirs": Out(bits),
                "theirs_failed": Out(1),
                "received": In(ControlPort()),
                "o": Out(stream.Signature(ControlFlit)),
                "lost": Out(1),
                "resent": Out(1),
                "damaged": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        value, sent = Signal(self._bits + 1), Signal(self._bits + 1)
        number = Signal(7, reset_less=True)
        again = Signal(init=1)  # the state must be sent though it has not changed
        waiting = Signal()  # for an ACK
        pending = Signal()  # to be sent
        starts = Signal()
        m.d.comb += [
            value.eq(Cat(self.mine, self.failed)),
            starts.eq(~waiting & ~self.lost & (again | (value != sent))),
        ]
        with m.If(starts):
            m.d.sync += [sent.eq(value), number.eq(number + 1), waiting.eq(1), pending.eq(1), again.eq(0)]
        owed, reply = Signal(), Signal(32)
        self._offer(m, sent, number, owed, reply, pending)
        acknowledged = self._receive(m, sent, number, owed, reply)
        with m.If(waiting & acknowledged):
            m.d.sync += [waiting.eq(0), pending.eq(0)]
        self._repeat(m, starts, waiting, pending, acknowledged)
        down = Signal()
        m.d.sync += down.eq(self.received.down)
        with m.If(self.received.down & ~down):
            m.d.sync += again.eq(1)
        m.d.comb += self.idle.eq(~starts & ~waiting & ~owed & ~self.received.valid & (down == self.received.down))
        return m

    def _offer(self, m, sent, number, owed, reply, pending):
        """An ACK goes before a STATE."""
        state = Signal(BarrierState)
        word = Cat(sent[:-1], Signal(16 - self._bits), sent[-1], number)
        m.d.comb += [
            state.eq(Cat(word, check_of(word)[:8])),
            self.o.valid.eq(owed | pending),
            self.o.payload.kind.eq(Mux(owed, BarrierKind.ACK, BarrierKind.STATE)),
            self.o.payload.data.eq(Mux(owed, reply, state)),
        ]
        with m.If(self.o.valid & self.o.ready):
            with m.If(owed):
                m.d.sync += owed.eq(0)
            with m.Else():
                m.d.sync += pending.eq(0)

    def _receive(self, m, sent, number, owed, reply):
        """High in a slot in which the state that was sent is acknowledged."""
        came, word = Signal(BarrierState), self.received.flit.data
        sound, ahead, acknowledged = Signal(), Signal(7), Signal()
        theirs, failed, last = (
            Signal(self._bits, reset_less=True),
            Signal(reset_less=True),
            Signal(7, reset_less=True),
        )
        is_ack = self.received.flit.kind == BarrierKind.ACK
        m.d.comb += [
            came.eq(word),
            sound.eq(self.received.valid & (check_of(word[:24])[:8] == came.check)),
            self.damaged.eq(self.received.valid & ~sound),
            ahead.eq(came.number - last),
            acknowledged.eq(
                sound & is_ack & (Cat(came.bits[: self._bits], came.failed) == sent) & (came.number == number)
            ),
            self.theirs.eq(theirs),
            self.theirs_failed.eq(failed),
        ]
        with m.If(sound & ~is_ack & ~ahead[6]):  # not older than the last one
            m.d.sync += [theirs.eq(came.bits), failed.eq(came.failed), last.eq(came.number)]
            m.d.sync += [owed.eq(1), reply.eq(word)]
        return acknowledged

    def _repeat(self, m, starts, waiting, pending, acknowledged):
        waited, tries = Signal(up_to(self._timeout - 1)), Signal(range(self._tries + 1))
        expired = Signal()
        m.d.comb += [
            expired.eq(waiting & ~pending & ~acknowledged & (waited == self._timeout - 1)),
            self.resent.eq(expired & (tries != self._tries)),
        ]
        with m.If(starts | pending | acknowledged | expired):
            m.d.sync += waited.eq(0)
        with m.Elif(waiting):
            m.d.sync += waited.eq(waited + 1)
        with m.If(starts):
            m.d.sync += tries.eq(0)
        with m.If(self.resent):
            m.d.sync += [pending.eq(1), tries.eq(tries + 1)]
        with m.Elif(expired):
            m.d.sync += [self.lost.eq(1), waiting.eq(0)]
