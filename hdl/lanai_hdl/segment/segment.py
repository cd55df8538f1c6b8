"""The segment: wires talkers, the wire's one holder, and listeners; counts."""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..hub.timer import FrameTimer
from ..link.flit import Flit, Kind, LinkPort
from ..link.limiter import RateLimiter
from ..link.receiver import LinkReceiver
from ..switch.arbiter import HoldingArbiter
from .config import SegmentConfig
from .contention import Contention
from .listener import Listener
from .talker import Talker


class Segment(wiring.Component):
    """A broadcast wire (CC-14). One NIC talks at a time; its packet goes to the ports that its
    route names (`route`), to all of them in the same slots.

    NICs that want to talk wait their turn, round robin; with `SegmentConfig.backoff` they collide
    (`Contention`). `SegmentConfig.frame` says what a packet takes beside its flits. A receiver that says
    STOP loses its copy (`Listener`), the others do not notice. Every output is registered; the
    cables' latency lies outside.

    Members
    -------
    rx, tx : arrays of ``config.ports`` links
    drops : array of ``config.ports`` ``Out(32)`` counters, modulo 2**32: packets of which this
        port's NIC got less than all
    bad_routes, silences, strays, forwarded, collisions : ``Out(32)`` counters over all ports, modulo
        2**32: packets dropped for their route, packets whose talker fell silent or began another,
        flits outside a packet, flits that passed the wire, times that several NICs began together
    idle : ``Out(1)``: nothing is inside and nothing changes until a flit or STOP comes
    """

    def __init__(self, config: SegmentConfig):
        self.config = config
        super().__init__(
            {
                "rx": In(LinkPort()).array(config.ports),
                "tx": Out(LinkPort()).array(config.ports),
                "drops": Out(32).array(config.ports),
                "bad_routes": Out(32),
                "silences": Out(32),
                "strays": Out(32),
                "forwarded": Out(32),
                "collisions": Out(32),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ports = self.config.ports
        backoff = self.config.backoff
        m.submodules.arbiter = arbiter = Contention(ports, backoff) if backoff else HoldingArbiter(ports)
        receivers = [LinkReceiver(self.config.nic) for _ in range(ports)]
        talkers = [Talker(ports, self.config.silent_slots) for _ in range(ports)]
        listeners = [Listener() for _ in range(ports)]
        for n, (receiver, talker, listener) in enumerate(zip(receivers, talkers, listeners, strict=True)):
            m.submodules[f"receiver{n}"] = receiver
            m.submodules[f"talker{n}"] = talker
            m.submodules[f"listener{n}"] = listener
            wiring.connect(m, wiring.flipped(self.rx[n]), receiver.link)
            wiring.connect(m, receiver.o, talker.i)
            wiring.connect(m, listener.link, wiring.flipped(self.tx[n]))

        taken, resting = self._wire(m, arbiter, talkers, listeners)
        blocks = (*receivers, *listeners)
        m.d.comb += self.idle.eq(Cat(block.idle for block in blocks).all() & resting & ~arbiter.request.any())
        for counter, events in (
            (self.bad_routes, Cat(talker.bad_route for talker in talkers)),
            (self.silences, Cat(talker.silent for talker in talkers)),
            (self.strays, Cat(talker.stray for talker in talkers)),
            (self.forwarded, taken),
            (self.collisions, arbiter.collided if backoff else Const(0)),
            *((self.drops[n], listener.dropped) for n, listener in enumerate(listeners)),
        ):
            m.d.sync += counter.eq(counter + sum(events[1:], start=events[0]))
        return m

    def _wire(self, m, arbiter, talkers, listeners):
        """The holder's flits at the wire's rate to all listeners. (a flit passes, nothing changes
        until one does)"""
        m.submodules.limiter = limiter = RateLimiter(self.config.nic)
        flit, targets = Signal(Flit), Signal(self.config.ports)
        valid, ready, taken = Signal(), Signal(), Signal()
        m.submodules.timer = timer = FrameTimer(self.config.frame)
        is_head, is_tail = flit.kind == Kind.HEAD, flit.kind == Kind.TAIL
        m.d.comb += [
            ready.eq(limiter.ready & (~is_head | timer.may_head) & (~is_tail | timer.may_tail)),
            taken.eq(valid & ready),
            limiter.take.eq(taken),
            timer.offered.eq(valid & is_head),
            timer.head.eq(taken & is_head),
            timer.tail.eq(taken & is_tail),
        ]
        if self.config.backoff:
            m.d.comb += arbiter.silent.eq(timer.idle)
        for n, (talker, listener) in enumerate(zip(talkers, listeners, strict=True)):
            m.d.comb += [
                arbiter.request[n].eq(talker.request),
                talker.o.ready.eq(arbiter.grant[n] & ready),
                listener.taken.eq(taken),
                listener.flit.eq(flit),
                listener.mine.eq(targets[n]),
            ]
            with m.If(arbiter.grant[n] & talker.request):
                m.d.comb += [valid.eq(talker.o.valid), flit.eq(talker.o.payload), targets.eq(talker.targets)]
        return taken, limiter.full & timer.idle & (arbiter.grant.any() == arbiter.request.any())
