"""What is built into an FPGA: the NIC, a serial line in the host's place, and its link looped back."""

from itertools import pairwise

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..link import Kind
from ..nic import Nic
from ..sram import MemorySram
from ..uart import UartBridge


class LinkLoop(wiring.Component):
    """A cable from the NIC's transmitter to its own receiver: `latency` slots each way.

    Members: `kind`, `data`, `stop` from and to the NIC (`o_` leaves the loop).
    """

    def __init__(self, latency: int):
        if latency < 1:
            raise ValueError(f"latency={latency!r} must be at least 1 slot")
        self._latency = latency
        super().__init__(
            {
                "i_kind": In(Kind),
                "i_data": In(32),
                "i_stop": In(1),
                "o_kind": Out(Kind),
                "o_data": Out(32),
                "o_stop": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        kinds = [self.i_kind, *(Signal(Kind, name=f"kind{n}") for n in range(self._latency))]
        words = [self.i_data, *(Signal(32, name=f"data{n}") for n in range(self._latency))]
        stops = [self.i_stop, *(Signal(name=f"stop{n}") for n in range(self._latency))]
        for line in (kinds, words, stops):
            m.d.sync += [after.eq(before) for before, after in pairwise(line)]
        m.d.comb += [self.o_kind.eq(kinds[-1]), self.o_data.eq(words[-1]), self.o_stop.eq(stops[-1])]
        return m


class BoardTop(wiring.Component):
    """The NIC as a board carries it; the very thing that the self-test simulates.

    Parameters
    ----------
    config : what the NIC is built as; its SRAM becomes block RAM
    divisor : slots a bit of the serial line
    image : the SRAM's first words

    Members
    -------
    rx, tx : the serial line (see `UartBridge`)
    leds : ``Out(8)``: SCRATCH7's low seven bits, where the self-test reports, and on top whether the processor has trapped
    """

    def __init__(self, config: NicConfig, divisor: int, image=()):
        self.config = config
        self.nic = Nic(config, sram=MemorySram(config, init=image))
        self._divisor = divisor
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "leds": Out(8)})

    def elaborate(self, platform):
        m = Module()
        nic = self.nic
        m.submodules.nic = nic
        m.submodules.bridge = bridge = UartBridge(self._divisor)
        m.submodules.loop = loop = LinkLoop(self.config.link_latency)
        wiring.connect(m, bridge.pio, nic.pio)
        wiring.connect(m, nic.mem, bridge.mem)
        slot = Signal(33)
        m.d.sync += slot.eq(slot + 1)
        m.d.comb += [
            nic.now.eq(slot),
            bridge.rx.eq(self.rx),
            self.tx.eq(bridge.tx),
            loop.i_kind.eq(nic.link_tx.kind),
            loop.i_data.eq(nic.link_tx.data),
            nic.link_rx.kind.eq(loop.o_kind),
            nic.link_rx.data.eq(loop.o_data),
            loop.i_stop.eq(nic.link_rx.stop),
            nic.link_tx.stop.eq(loop.o_stop),
            self.leds.eq(Cat(nic.registers.scratch7[:7], nic.processor.trap.valid)),
        ]
        return m
