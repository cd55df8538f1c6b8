"""The top of an FPGA: the NIC, a line of bytes in the host's place, and its link looped back or on pins."""

from collections.abc import Sequence

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..control.control import SlotCounter
from ..host_bus.ports import PioPort
from ..link.cable import Cable
from ..machine import Control, host_offset
from ..nic import Nic
from ..phy.phy import Phy
from ..phy.symbols import Symbol
from ..sram.block_ram import BlockRamSram
from ..switch.switch import Switch
from ..switch_config import SwitchConfig
from ..uart import ClockedFt245, FrameBridge, Ft245, Ft245Port, UartBridge
from .board import FT245, SERIAL
from .registers import BoardRegisters


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


PORT_FIFO = 32  # flits in each port of a board's switch: what may come after STOP, and some more


class CarriedNic(wiring.Component):
    """The NIC as boards carry it, without the line to its host.

    Parameters
    ----------
    config : what the NIC is built as; its SRAM becomes block RAM
    image : the SRAM's first words; the processor starts on them by itself. None: the host starts it
    phy : the NIC's link is on pins, by a `Phy`, whose domain `rx` the parent has; else it is looped back. Between
        NIC and phy is a switch, which has the NIC at port 0: a NIC reaches itself too
    members : of the line to the host, which is `line`, one of `LINES`

    Members
    -------
    leds : ``Out(2)``: the NIC's `irq`, which the self-test raises when it is through, and its
        `idle`
    o, i : with a phy: ``Out(Symbol)``, ``In(Symbol)``, the pins
    up : with a phy: ``Out(1)``, there is a link
    """

    line = SERIAL

    def __init__(self, config: NicConfig, image: Sequence[int] | None, phy: bool, members):
        self.config = config
        self.nic = Nic(config, sram=BlockRamSram(config, init=image or ()))
        self._starts = image is not None
        self.phy = Phy() if phy else None
        self.switch = Switch(SwitchConfig(2, config.but(rx_fifo=PORT_FIFO, blocks=()))) if phy else None
        pins = {"o": Out(Symbol), "i": In(Symbol), "up": Out(1)} if phy else {}
        super().__init__({**members, "leds": Out(2), **pins})

    def _carry(self, m, bridge):
        """Join the NIC with what brings its host's accesses, and with its link."""
        nic = self.nic
        m.submodules.nic = nic
        m.submodules.bridge = bridge
        m.submodules.slots = slots = SlotCounter()
        if self._starts:
            m.submodules.auto_run = auto_run = AutoRun()
            wiring.connect(m, auto_run.o, nic.pio)
            first = auto_run.i
        else:
            first = nic.pio
        if self.phy is not None:
            m.submodules.registers = registers = BoardRegisters(self.phy)
            wiring.connect(m, registers.o, first)
            first = registers.i
        wiring.connect(m, bridge.pio, first)
        wiring.connect(m, nic.mem, bridge.mem)
        if self.phy is None:
            m.submodules.cable = cable = Cable(self.config.link_latency)
            wiring.connect(m, nic.link_tx, cable.i)
            wiring.connect(m, cable.o, nic.link_rx)
        else:
            m.submodules.phy = phy = self.phy
            m.submodules.switch = switch = self.switch
            wiring.connect(m, nic.link_tx, switch.rx[0])
            wiring.connect(m, switch.tx[0], nic.link_rx)
            wiring.connect(m, switch.tx[1], phy.link_tx)
            wiring.connect(m, phy.link_rx, switch.rx[1])
            m.d.comb += [self.o.eq(phy.o), phy.i.eq(self.i), self.up.eq(phy.up)]
        m.d.comb += bridge.reset.eq(nic.in_reset)
        m.d.comb += [nic.now.eq(slots.now), bridge.irq.eq(nic.irq), self.leds.eq(Cat(nic.irq, nic.idle))]


class BoardTop(CarriedNic):
    """The NIC at the end of a serial line; the very thing that the self-test simulates.

    Parameters: `divisor`, slots a bit of the serial line; others as `CarriedNic` has them. Members: `rx`, `tx`, the
    serial line (see `UartBridge`), and those of `CarriedNic`.
    """

    def __init__(self, config: NicConfig, divisor: int, image: Sequence[int] | None = (), phy: bool = False):
        self._divisor = divisor
        super().__init__(config, image, phy, {"rx": In(1, init=1), "tx": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        bridge = UartBridge(self._divisor)
        self._carry(m, bridge)
        m.d.comb += [bridge.rx.eq(self.rx), self.tx.eq(bridge.tx)]
        return m


class Ft245BoardTop(CarriedNic):
    """The NIC behind the FIFO of a USB chip. Members: `fifo`, ``Out(Ft245Port())``, and those of `CarriedNic`.

    Parameters: `line`, FT245, or FT245_SYNC, where the parent has the domain `usb` of `ClockedFt245`; others as
    `CarriedNic` has them.
    """

    def __init__(self, config: NicConfig, image: Sequence[int] | None = (), phy: bool = False, line: str = FT245):
        self.line = line
        super().__init__(config, image, phy, {"fifo": Out(Ft245Port())})

    def elaborate(self, platform):
        m = Module()
        bridge = FrameBridge()
        self._carry(m, bridge)
        m.submodules.chip = chip = Ft245(self.config.slot_khz) if self.line == FT245 else ClockedFt245()
        wiring.connect(m, chip.o, bridge.i)
        wiring.connect(m, bridge.o, chip.i)
        wiring.connect(m, chip.pins, wiring.flipped(self.fifo))
        return m


class FifoBoardTop(CarriedNic):
    """The NIC behind a byte FIFO, which carries a byte a slot each way.

    Members: `host_i`, `host_o`, streams of bytes; `still`, ``Out(1)``: NIC, switch and bridge do nothing until the
    host or the link asks, as `Nic` has `idle` and `wake_armed`; and those of `CarriedNic`.
    """

    def __init__(self, config: NicConfig, image: Sequence[int] | None = (), phy: bool = False):
        line = {"host_i": In(stream.Signature(8)), "host_o": Out(stream.Signature(8)), "still": Out(1)}
        super().__init__(config, image, phy, line)

    def elaborate(self, platform):
        m = Module()
        bridge = FrameBridge()
        self._carry(m, bridge)
        wiring.connect(m, wiring.flipped(self.host_i), bridge.i)
        wiring.connect(m, bridge.o, wiring.flipped(self.host_o))
        quiet = 1 if self.switch is None else self.switch.idle
        m.d.comb += self.still.eq(self.nic.idle & ~self.nic.wake_armed & bridge.still & quiet)
        return m
