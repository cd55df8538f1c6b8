"""NICs joined by one switch, for benches."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..control.control import SlotCounter
from ..host_bus.ports import HostMemoryPort, PioPort
from ..link.cable import Cable
from ..link.flit import Kind


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
        count = len(nics)
        super().__init__(
            {
                "pio": In(PioPort()).array(count),
                "mem": Out(HostMemoryPort()).array(count),
                "irq": Out(1).array(count),
                "idle": Out(1).array(count),
            }
        )

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
            wiring.connect(m, wiring.flipped(self.pio[n]), nic.pio)
            wiring.connect(m, wiring.flipped(self.mem[n]), nic.mem)
            m.d.comb += [nic.now.eq(slots.now), self.irq[n].eq(nic.irq), self.idle[n].eq(nic.idle)]
        return m
