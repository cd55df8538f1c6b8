"""The top of an FPGA that is a switch: a phy at each port, so that more than two boards can be joined."""

from amaranth import Cat, DomainRenamer, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..link.flit import Kind
from ..phy.phy import Phy
from ..phy.symbols import Symbol
from ..switch.switch import Switch
from ..switch_config import SwitchConfig
from .top import PORT_FIFO

# Two seconds of a board's slots. A NIC that is reset while it sends leaves a packet without an end in the switch, which
# must not keep its output from the next run of all boards. A packet that comes by a slow host line takes less.
BLOCKED_SLOTS = 1 << 27


def domain(port: int) -> str:
    """Return the domain of the clock that comes in at a port."""
    return f"rx{port}"


class SwitchTop(wiring.Component):
    """A switch with a `Phy` at each port.

    The domain `sync` is the slot clock. The parent has a domain for each port, `domain(port)`, as `Phy` has `rx`.

    Parameters
    ----------
    config : the NIC of the boards that are joined
    ports : how many of them can be
    blocked_slots : as `SwitchConfig` has it

    Members
    -------
    o, i : arrays of ``Out(Symbol)`` and ``In(Symbol)``, the pins of each port
    up : ``Out(ports)``, where there is a link
    still : ``Out(1)``: in this slot no flit comes in or leaves, and no side says STOP
    """

    def __init__(self, config: NicConfig, ports: int, blocked_slots: int = BLOCKED_SLOTS):
        self.config = config
        nic = config.but(rx_fifo=PORT_FIFO, blocks=())
        self.switch = Switch(SwitchConfig(ports, nic, blocked_slots))
        self.phys = [Phy() for _ in range(ports)]
        super().__init__(
            {"o": Out(Symbol).array(ports), "i": In(Symbol).array(ports), "up": Out(ports), "still": Out(1)}
        )

    @property
    def domains(self) -> list[str]:
        """The domains that the parent has beside `sync`."""
        return [domain(port) for port in range(len(self.phys))]

    def elaborate(self, platform):
        m = Module()
        m.submodules.switch = switch = self.switch
        for port, phy in enumerate(self.phys):
            m.submodules[f"phy{port}"] = DomainRenamer({"rx": domain(port)})(phy)
            wiring.connect(m, switch.tx[port], phy.link_tx)
            wiring.connect(m, phy.link_rx, switch.rx[port])
            m.d.comb += [self.o[port].eq(phy.o), phy.i.eq(self.i[port]), self.up[port].eq(phy.up)]
        m.d.comb += self.still.eq(Cat(_rests(way) for phy in self.phys for way in (phy.link_tx, phy.link_rx)).all())
        return m


def _rests(way):
    return ((way.kind == Kind.IDLE) | (way.kind == Kind.DOWN)) & ~way.stop
