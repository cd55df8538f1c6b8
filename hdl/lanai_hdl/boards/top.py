"""The top of an FPGA: the NIC, a serial line in the host's place, and its link looped
back."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..control.control import SlotCounter
from ..host_bus.ports import PioPort
from ..link.cable import Cable
from ..machine import Control, host_offset
from ..nic import Nic
from ..sram.block_ram import BlockRamSram
from ..uart import UartBridge


class AutoRun(wiring.Component):
    """Sets CONTROL.RUN once after power-up, then passes accesses through. Members: `i` from the
    host, `o` to the NIC."""

    i: In(PioPort())
    o: Out(PioPort())

    def elaborate(self, platform):
        m = Module()
        done = Signal()
        with m.If(done):
            wiring.connect(m, wiring.flipped(self.i), wiring.flipped(self.o))
        with m.Else():
            m.d.comb += [
                self.o.valid.eq(1),
                self.o.write.eq(1),
                self.o.addr.eq(host_offset("CONTROL")),
                self.o.wdata.eq(Control.RUN),
                self.o.be.eq(0b1111),
            ]
            m.d.sync += done.eq(self.o.ready)
        return m


class BoardTop(wiring.Component):
    """The NIC as a board carries it; the very thing that the self-test simulates.

    Parameters
    ----------
    config : what the NIC is built as; its SRAM becomes block RAM
    divisor : slots a bit of the serial line
    image : the SRAM's first words; the processor starts on them by itself

    Members
    -------
    rx, tx : the serial line (see `UartBridge`)
    leds : ``Out(2)``: the NIC's `irq`, which the self-test raises when it is through, and its
        `idle`
    """

    def __init__(self, config: NicConfig, divisor: int, image=()):
        self.config = config
        self.nic = Nic(config, sram=BlockRamSram(config, init=image))
        self._divisor = divisor
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "leds": Out(2)})

    def elaborate(self, platform):
        m = Module()
        nic = self.nic
        m.submodules.nic = nic
        m.submodules.bridge = bridge = UartBridge(self._divisor)
        m.submodules.slots = slots = SlotCounter()
        m.submodules.cable = cable = Cable(self.config.link_latency)
        m.submodules.auto_run = auto_run = AutoRun()
        wiring.connect(m, bridge.pio, auto_run.i)
        wiring.connect(m, auto_run.o, nic.pio)
        wiring.connect(m, nic.mem, bridge.mem)
        wiring.connect(m, nic.link_tx, cable.i)
        wiring.connect(m, cable.o, nic.link_rx)
        m.d.comb += [
            nic.now.eq(slots.now),
            bridge.rx.eq(self.rx),
            bridge.irq.eq(nic.irq),
            self.tx.eq(bridge.tx),
            self.leds.eq(Cat(nic.irq, nic.idle)),
        ]
        return m
