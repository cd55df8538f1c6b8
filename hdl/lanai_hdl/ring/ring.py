"""The ring: wires its nodes to each other and to the cables of their NICs; counts."""

from amaranth import Cat, EnableInserter, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit, LinkPort
from ..link.limiter import RateLimiter
from ..link.receiver import LinkReceiver
from ..queue import Queue
from ..switch.port import SwitchTransmitter
from .config import RingConfig
from .node import RingNode

COUNTERS = {
    "bad_routes": ("bad_route",),
    "strays": ("stray",),
    "dropped": ("cut", "oversized"),
    "retries": ("again",),
}


class Ring(wiring.Component):
    """Node n passes to node n + 1, the last to node 0. NIC n is at port n.

    All links have the rate of the cables, and move on in the same slots. Every output is
    registered; the cables' latency lies outside.

    Members
    -------
    rx, tx : arrays of ``config.ports`` links
    bad_routes, strays, dropped, retries : ``Out(32)`` counters over all ports, modulo 2**32: packets
        dropped for their route, flits outside a packet, packets dropped that had no TAIL or were too
        long, packets sent again as their target had no space
    idle : ``Out(1)``: nothing is inside and nothing changes until a flit or STOP comes
    """

    def __init__(self, config: RingConfig):
        self.config = config
        super().__init__(
            {
                "rx": In(LinkPort()).array(config.ports),
                "tx": Out(LinkPort()).array(config.ports),
                **{name: Out(32) for name in COUNTERS},
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, ports = self.config, range(self.config.ports)
        m.submodules.limiter = limiter = RateLimiter(config.nic)
        receivers = [LinkReceiver(config.nic) for _ in ports]
        arrived = [Queue(Flit, config.receives * config.packet) for _ in ports]
        transmitters = [SwitchTransmitter(config.nic) for _ in ports]
        nodes = [RingNode(config, n) for n in ports]
        moves, rests = Signal(), Signal()  # the links move on; they need not
        for n in ports:
            m.submodules[f"receiver{n}"] = receiver = receivers[n]
            m.submodules[f"arrived{n}"] = queue = arrived[n]
            m.submodules[f"transmitter{n}"] = transmitter = transmitters[n]
            m.submodules[f"node{n}"] = EnableInserter(moves)(nodes[n])
            node = nodes[n]
            wiring.connect(m, wiring.flipped(self.rx[n]), receiver.link)
            wiring.connect(m, queue.o, transmitter.i)
            wiring.connect(m, transmitter.link, wiring.flipped(self.tx[n]))
            m.d.comb += [
                transmitter.up.eq(1),
                node.i.eq(nodes[n - 1].o),
                node.sends.valid.eq(receiver.o.valid),
                node.sends.payload.eq(receiver.o.payload),
                receiver.o.ready.eq(node.sends.ready & moves),
                node.room.eq(queue.free >= config.packet),
                queue.i.valid.eq(node.delivers & moves),
                queue.i.payload.eq(node.flit),
            ]
        m.d.comb += [
            rests.eq(Cat(node.quiet for node in nodes).all() & ~Cat(one.o.valid for one in receivers).any()),
            moves.eq(limiter.ready & ~rests),
            limiter.take.eq(moves),
            self.idle.eq(rests & limiter.full & Cat(block.idle for block in (*receivers, *transmitters)).all()),
        ]
        for counter, names in COUNTERS.items():
            events = Cat(getattr(node, name) for node in nodes for name in names)
            with m.If(moves):
                m.d.sync += getattr(self, counter).eq(getattr(self, counter) + sum(events[1:], start=events[0]))
        return m
