"""NICs joined by cables, for benches: two by one cable, or any number by one switch."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .control.control import SlotCounter
from .host_bus.ports import HostMemoryPort, PioPort
from .link.cable import Cable
from .link.flit import Kind


def _host_buses(count):
    """The members of a system of `count` NICs: the host bus of each."""
    return {
        "pio": In(PioPort()).array(count),
        "mem": Out(HostMemoryPort()).array(count),
        "irq": Out(1).array(count),
        "idle": Out(1).array(count),
    }


def _join_host_bus(m, system, n, slots):
    """Connect the host bus of NIC `n` to the members of its system, and its `now` to the counter of slots."""
    nic = system.nics[n]
    wiring.connect(m, wiring.flipped(system.pio[n]), nic.pio)
    wiring.connect(m, wiring.flipped(system.mem[n]), nic.mem)
    m.d.comb += [nic.now.eq(slots.now), system.irq[n].eq(nic.irq), system.idle[n].eq(nic.idle)]


class TwoNics(wiring.Component):
    """`nics`, two of them, each with its host bus out (`pio`, `mem`, `irq`, `idle`, arrays of two),
    joined by cables of `latency` slots."""

    def __init__(self, nics, latency):
        self.nics = nics
        self.latency = latency
        super().__init__(_host_buses(2))

    def elaborate(self, platform):
        m = Module()
        m.submodules.slots = slots = SlotCounter()
        for n, nic in enumerate(self.nics):
            m.submodules[f"nic{n}"] = nic
            m.submodules[f"cable{n}"] = cable = Cable(self.latency)
            wiring.connect(m, nic.link_tx, cable.i)
            wiring.connect(m, cable.o, self.nics[1 - n].link_rx)
            _join_host_bus(m, self, n, slots)
        return m


class SwitchedNics(wiring.Component):
    """`nics`, NIC n on port n of `switch`, by cables of `latency` slots; each with its host bus out
    (`pio`, `mem`, `irq`, `idle`, arrays).

    The route from any NIC to NIC n is the one byte 0x80 | n. Ports of the switch beyond the NICs
    have no cable, hence no carrier.
    """

    def __init__(self, nics, switch, latency):
        self.nics = nics
        self.switch = switch
        self.latency = latency
        super().__init__(_host_buses(len(nics)))

    def elaborate(self, platform):
        m = Module()
        m.submodules.slots = slots = SlotCounter()
        m.submodules.switch = self.switch
        for rx in self.switch.rx[len(self.nics) :]:
            m.d.comb += rx.kind.eq(Kind.DOWN)
        for n, nic in enumerate(self.nics):
            m.submodules[f"nic{n}"] = nic
            m.submodules[f"out{n}"] = out = Cable(self.latency)
            m.submodules[f"back{n}"] = back = Cable(self.latency)
            wiring.connect(m, nic.link_tx, out.i)
            wiring.connect(m, out.o, self.switch.rx[n])
            wiring.connect(m, self.switch.tx[n], back.i)
            wiring.connect(m, back.o, nic.link_rx)
            _join_host_bus(m, self, n, slots)
        return m
