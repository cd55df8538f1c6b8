"""The switch: wires link receivers, the crossbar and transmitters; counts."""

from amaranth import Cat, Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..barrier.junction import BarrierJunction
from ..barrier.port import BarrierPort
from ..config import BlockedAction
from ..link.flit import LinkPort
from ..link.receiver import LinkReceiver
from ..switch_config import SwitchConfig
from .crossbar import Crossbar
from .port import SwitchTransmitter


class Switch(wiring.Component):
    """A wormhole source-routed crossbar switch (NP-19).

    Every output is registered; the cables' latency lies outside. An unhindered HEAD leaves five
    slots after it stood on `rx`, the flits behind it follow at the link's rate.

    Members
    -------
    rx, tx : arrays of ``config.ports`` links
    bad_routes, blocked, strays, forwarded : ``Out(32)`` counters over all ports, modulo 2**32:
        packets dropped for their route, packets given up for waiting too long, flits outside a
        packet or for a dead cable, flits passed on
    resets : ``Out(32)``, how often the switch reset itself
    idle : ``Out(1)``: nothing is inside and nothing changes until a flit or STOP comes
    barrier_members, barrier_parent : ``In(config.ports)``, only if `config.cascaded`: of
        `BarrierJunction`
    """

    def __init__(self, config: SwitchConfig):
        self.config = config
        super().__init__(
            {
                "rx": In(LinkPort()).array(config.ports),
                "tx": Out(LinkPort()).array(config.ports),
                "bad_routes": Out(32),
                "blocked": Out(32),
                "strays": Out(32),
                "forwarded": Out(32),
                "resets": Out(32),
                "idle": Out(1),
                **(dict.fromkeys(("barrier_members", "barrier_parent"), In(config.ports)) if config.cascaded else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ports = self.config.ports
        crossbar = Crossbar(ports, self.config.blocked_slots, multicast=self.config.multicast)
        receivers = [LinkReceiver(self.config.nic) for _ in range(ports)]
        transmitters = [SwitchTransmitter(self.config.nic) for _ in range(ports)]
        reset = Signal()
        if self.config.blocked_action is BlockedAction.RESET:
            m.d.sync += reset.eq(crossbar.blocked.any() & ~reset)
        clear = ResetInserter(reset)
        m.submodules.crossbar = clear(crossbar)
        for n, (receiver, transmitter) in enumerate(zip(receivers, transmitters, strict=True)):
            m.submodules[f"receiver{n}"] = clear(receiver)
            m.submodules[f"transmitter{n}"] = clear(transmitter)
            direct = not self.config.barrier >> n & 1
            if direct:
                wiring.connect(m, wiring.flipped(self.rx[n]), receiver.link)
            wiring.connect(m, receiver.o, crossbar.i[n])
            wiring.connect(m, crossbar.o[n], transmitter.i)
            if direct:
                wiring.connect(m, transmitter.link, wiring.flipped(self.tx[n]))
            m.d.comb += transmitter.up.eq(receiver.up)

        dropped = Cat(transmitter.dropped for transmitter in transmitters)
        sent = Cat(transmitter.sent for transmitter in transmitters)
        barrier = self._barrier(m, receivers, transmitters)
        blocks = (crossbar, *receivers, *transmitters, *barrier)
        m.d.comb += self.idle.eq(Cat(block.idle for block in blocks).all() & ~reset)
        for counter, events in (
            (self.bad_routes, crossbar.bad_route),
            (self.blocked, crossbar.blocked),
            (self.strays, Cat(crossbar.stray, dropped)),
            (self.forwarded, sent),
            (self.resets, reset),
        ):
            self._count(m, counter, events)
        return m

    def _barrier(self, m, receivers, transmitters):
        """The barrier tree, whose members stand between a port's link and the parts for packets. It is
        not reset with them, because the NICs do not send their bits anew. Its blocks."""
        members = [n for n in range(self.config.ports) if self.config.barrier >> n & 1]
        if not members:
            return []
        cascaded = self.config.cascaded
        m.submodules.barrier = junction = BarrierJunction(len(members))
        m.d.comb += [
            junction.members.eq(self.barrier_members if cascaded else -1),
            junction.parent.eq(self.barrier_parent if cascaded else 0),
        ]
        ports = [BarrierPort(self.config.nic) for _ in members]
        for i, (n, port) in enumerate(zip(members, ports, strict=True)):
            m.submodules[f"barrier{n}"] = port
            wiring.connect(m, wiring.flipped(self.rx[n]), port.wire_rx)
            wiring.connect(m, port.rx, receivers[n].link)
            wiring.connect(m, transmitters[n].link, port.tx)
            wiring.connect(m, port.wire_tx, wiring.flipped(self.tx[n]))
            m.d.comb += [
                junction.theirs[i].eq(port.theirs),
                junction.failed[i].eq(port.lost | port.theirs_failed),
                port.mine.eq(junction.mine[i]),
                port.failed.eq(junction.mine_failed[i]),
            ]
        return [junction, *ports]

    @staticmethod
    def _count(m, counter, events):
        marked = Signal(range(len(events) + 1))
        m.d.comb += marked.eq(sum(events[1:], start=events[0]) if len(events) > 1 else events)
        m.d.sync += counter.eq(counter + marked)
