"""Two NICs on one cable, for benches."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..control.control import SlotCounter
from ..host_bus.ports import HostMemoryPort, PioPort
from ..link.cable import Cable


class TwoNics(wiring.Component):
    """`nics`, two of them, each with its host bus out (`pio`, `mem`, `irq`, `idle`, arrays of two),
    joined by " "cables of `latency` slots."""

    def __init__(self, nics, latency):
        self.nics = nics
        self.latency = latency
        super().__init__(
            {
                "pio": In(PioPort()).array(2),
                "mem": Out(HostMemoryPort()).array(2),
                "irq": Out(1).array(2),
                "idle": Out(1).array(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.slots = slots = SlotCounter()
        for n, nic in enumerate(self.nics):
            m.submodules[f"nic{n}"] = nic
            m.submodules[f"cable{n}"] = cable = Cable(self.latency)
            wiring.connect(m, nic.link_tx, cable.i)
            wiring.connect(m, cable.o, self.nics[1 - n].link_rx)
            wiring.connect(m, wiring.flipped(self.pio[n]), nic.pio)
            wiring.connect(m, wiring.flipped(self.mem[n]), nic.mem)
            m.d.comb += [nic.now.eq(slots.now), self.irq[n].eq(nic.irq), self.idle[n].eq(nic.idle)]
        return m
