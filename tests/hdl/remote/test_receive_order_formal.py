"""A receiver carries out each request at most once, one in turn behind all before it, and says of none that it was
carried out that was not, by induction."""

from amaranth import Module, Mux, Signal
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import SESSION_BITS, WINDOW
from lanai_hdl.remote.receive_order import Place, ReceiveOrder

HALF = 1 << 15  # of all sequence numbers
CONFIG = Remote(processes=1, peers=1, pages=2, payload=16)
STANDS = 2  # slots until a place can be relied on


class OnceSpec(wiring.Component):
    """Any requests of one peer, of any sessions, each shown for any time. Whoever serves them accepts one
    that is NEXT, or that is EARLY and RELAXED, and renews the session of one that is NEW, when its place stands.

    One request, of any number and session, is watched: once accepted, it is not accepted again, and none behind it in
    its session is accepted before it unless that is RELAXED. This is so as long as numbers do not come round: HALF of
    all requests behind it in its session, or half of all sessions behind its own. And it is a DUPLICATE, which is
    answered as one that was carried out, only if it was accepted.
    """

    def __init__(self, config=CONFIG):
        self.dut = ReceiveOrder(config)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        request = self._request(m)
        stands, moved = Signal(range(STANDS + 1)), Signal()
        m.d.comb += moved.eq(dut.accept | dut.renew | dut.catching_up)
        with m.If(moved | self._changes):
            m.d.sync += stands.eq(0)
        with m.Elif(stands != STANDS):
            m.d.sync += stands.eq(stands + 1)
        serves, relaxed = Signal(), Signal()
        m.d.comb += [
            relaxed.eq(AnySeq(1)),
            serves.eq(AnySeq(1) & dut.ready & (stands == STANDS) & ~dut.catching_up),
            dut.accept.eq(serves & ((dut.place == Place.NEXT) | ((dut.place == Place.EARLY) & relaxed))),
            dut.renew.eq(serves & (dut.place == Place.NEW)),
        ]
        watched = AnyConst(len(request))
        taken, accepted = Signal(), Signal()
        m.d.comb += accepted.eq(dut.accept & (request == watched))
        with m.If(accepted):
            m.d.sync += taken.eq(1)
        duplicate = serves & (dut.place == Place.DUPLICATE) & (request == watched)
        m.d.comb += [
            Assert(~(taken & accepted), "carried out twice"),
            Assert(~duplicate | taken, "answered, and was not carried out"),
        ]
        follows = self._stays_known(m, taken, watched[:16], watched[16:])
        m.d.comb += Assert(~(dut.accept & ~relaxed & follows) | taken, "carried out before one that is before it")
        return m

    def _request(self, m):
        """Drive any request, with its number and session."""
        dut = self.dut
        self._changes = Signal()
        request, boot = Signal(16 + SESSION_BITS), Signal.like(dut.boot)
        m.d.comb += [
            self._changes.eq(AnySeq(1)),
            dut.source.eq(0),
            dut.sequence.eq(request[:16]),
            dut.session.eq(request[16:]),
            dut.boot.eq(boot),
            dut.own_session.eq(AnyConst(len(dut.own_session))),
            dut.own_boot.eq(AnyConst(len(dut.own_boot))),
        ]
        for signal in (dut.owner, dut.mark, dut.unmark, dut.outcome, dut.atomic, dut.result):
            m.d.comb += signal.eq(AnySeq(len(signal)))
        with m.If(self._changes):
            m.d.sync += [request.eq(AnySeq(len(request))), boot.eq(AnySeq(len(boot)))]
        return request

    def _stays_known(self, m, taken, sequence, session):
        """The induction: the session that is kept is that of the watched request or a newer one. In its
        own session the request lies behind what is expected, or is marked as done. Return whether the request that is
        shown follows it in its session."""
        dut, now = self.dut, self.dut.now
        behind, ahead, sessions, next_session = Signal(16), Signal(16), Signal(SESSION_BITS), Signal(SESSION_BITS)
        m.d.comb += [
            behind.eq(now.expected - sequence),
            ahead.eq(sequence - now.expected),
            sessions.eq(now.session - session),
            next_session.eq(dut.session - session),
        ]
        is_done = (ahead < WINDOW) & now.done.bit_select(sequence[:4], 1)
        round_ = Signal()  # the session's numbers have come round
        with m.If(dut.renew):
            m.d.sync += round_.eq(0)
        with m.Elif(dut.cleared & now.expected.all() & (dut.catching_up | (dut.accept & (dut.place == Place.NEXT)))):
            m.d.sync += round_.eq(1)

        def follows(number):
            behind = (number - sequence)[:16]
            return (behind != 0) & (behind < HALF) & (round_ | (sequence < number))

        with m.If(dut.cleared):
            m.d.comb += [
                Assert(Mux(now.known, dut.ready, now.as_value() == 0)),
                Assert(now.many == (round_ | (now.expected >= WINDOW))),
                Assert(~(now.known & (sessions == 0) & (follows(now.expected) | is_done)) | taken),
            ]
        with m.If(taken):
            m.d.comb += [
                Assert(dut.ready & now.known),
                Assert(~sessions[-1]),
                Assert((sessions != 0) | ((behind != 0) & (behind < HALF)) | is_done),
                Assume(~dut.renew | ~next_session[-1]),
                Assume((sessions != 0) | (behind != HALF - 1)),
            ]
        return (next_session == 0) & follows(dut.sequence)


def test_a_request_is_accepted_at_most_once(prove):
    prove(OnceSpec(), depth=6)
