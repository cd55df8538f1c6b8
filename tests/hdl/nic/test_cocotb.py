"""Benches in cocotb, on the gateware as converted and verilated."""

import re
import sys
from pathlib import Path

import pytest
from amaranth import Module, Mux
from amaranth.back import verilog
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.config import NicConfig
from lanai_hdl.control.control import SlotCounter
from lanai_hdl.host_bus.bus import HostBus
from lanai_hdl.host_bus.ports import HostMemoryPort, PioPort
from lanai_hdl.host_dma.engine import HostDescriptor, HostDma
from lanai_hdl.lbus.lbus import Lbus, LbusMaster
from lanai_hdl.lbus.masters import MASTERS
from lanai_hdl.link.cable import Cable
from lanai_hdl.link.flit import Kind, LinkPort
from lanai_hdl.link.receiver import LinkReceiver
from lanai_hdl.link.transmitter import LinkTransmitter
from lanai_hdl.nic import Nic
from lanai_hdl.receive_dma.engine import ReceiveDma
from lanai_hdl.send_dma.engine import SendDma
from lanai_hdl.sram.memory import InstanceSram
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig
from lanai_hdl.systems import SwitchedNics

sys.path.insert(0, str(Path(__file__).parents[2]))

from cocotb_runner import run

# Each compiles a library, which takes longer than all of its tests.
pytestmark = [pytest.mark.slow, pytest.mark.bench]

HERE = Path(__file__).parent
CONFIG = NicConfig(sram_size=16384)


class Repeater(wiring.Component):
    """A receiver that sends what it receives on: both ends of a link in one block."""

    rx: In(LinkPort())
    tx: Out(LinkPort())

    def elaborate(self, platform):
        m = Module()
        m.submodules.receiver = receiver = LinkReceiver(CONFIG)
        m.submodules.transmitter = transmitter = LinkTransmitter(CONFIG)
        m.submodules.cable = cable = Cable(CONFIG.link_latency)
        wiring.connect(m, wiring.flipped(self.rx), receiver.link)
        flit, again = receiver.o.payload, transmitter.i.payload
        m.d.comb += [
            transmitter.i.valid.eq(receiver.o.valid),
            receiver.o.ready.eq(transmitter.i.ready),
            again.kind.eq(flit.kind),
            again.data.eq(Mux(flit.kind == Kind.TAIL, 0, flit.data)),  # the CRC is restarted
        ]
        wiring.connect(m, transmitter.link, cable.i)
        wiring.connect(m, cable.o, wiring.flipped(self.tx))
        m.d.comb += transmitter.up.eq(receiver.up)
        return m


class LbusWithSram(wiring.Component):
    """The LBUS on its SRAM; the parity counts itself."""

    def __init__(self):
        super().__init__({master.name: In(LbusMaster()) for master in MASTERS})

    def elaborate(self, platform):
        m = Module()
        m.submodules.lbus, m.submodules.sram, m.submodules.slots = lbus, sram, slots = (
            Lbus(CONFIG),
            InstanceSram(CONFIG),
            SlotCounter(),
        )
        wiring.connect(m, lbus.sram, sram.port)
        for master in MASTERS:
            wiring.connect(m, wiring.flipped(getattr(self, master.name)), lbus.port(master))
        m.d.comb += lbus.odd.eq(slots.now[0])
        return m


class HostDmaOnItsBus(wiring.Component):
    """The host DMA and the host bus, with PIO beside."""

    post: In(stream.Signature(HostDescriptor))
    lbus: Out(LbusMaster())
    mem: Out(HostMemoryPort())
    pio: In(PioPort())
    idle: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dma, m.submodules.bus = dma, bus = HostDma(CONFIG), HostBus(CONFIG)
        wiring.connect(m, dma.bus, bus.engine)
        for port, inner in ((self.post, dma.post), (self.lbus, dma.lbus), (self.mem, bus.mem), (self.pio, bus.pio)):
            wiring.connect(m, wiring.flipped(port), inner)
        m.d.comb += self.idle.eq(dma.idle & bus.idle)
        return m


def bench(component, name, tmp_path):
    run(component, HERE / name, tmp_path)


def test_lbus_block(tmp_path):
    bench(LbusWithSram(), "cocotb_lbus.py", tmp_path)


def test_host_dma_and_host_bus_blocks(tmp_path):
    bench(HostDmaOnItsBus(), "cocotb_hostdma.py", tmp_path)


def test_send_dma_block(tmp_path):
    bench(SendDma(CONFIG), "cocotb_senddma.py", tmp_path)


def test_receive_dma_block(tmp_path):
    bench(ReceiveDma(CONFIG), "cocotb_recvdma.py", tmp_path)


def test_link_block(tmp_path):
    bench(Repeater(), "cocotb_link.py", tmp_path)


def test_chip(tmp_path):
    bench(Nic(CONFIG), "cocotb_chip.py", tmp_path)


@pytest.mark.by_hand
def test_two_nics_through_a_switch(tmp_path):
    nics = [Nic(CONFIG), Nic(CONFIG)]
    switch = Switch(SwitchConfig(ports=2, nic=CONFIG))
    bench(SwitchedNics(nics, switch, CONFIG.link_latency), "cocotb_two_nics.py", tmp_path)


# The NIC as Verilog: how much it is, and that each of its processes has something to wait for.


TEXT = verilog.convert(Nic(NicConfig(sram_size=16384)), name="nic", strip_internal_attrs=True)
MOST_LINES = 25_000
PROCESS = re.compile(r"^  always @\*\n?(.*?)(?=^  \S|^endmodule)", re.DOTALL | re.MULTILINE)


def test_the_text_is_not_longer_than_it_must_be():
    assert len(TEXT.splitlines()) <= MOST_LINES


def test_no_process_reads_nothing():
    """An event simulator would never run it, and its signal would stay undefined (amaranth-lang/amaranth#1629)."""
    sources = [re.sub(r"\S+\s*(\[[\d:]+\]\s*)?=|begin|end", "", body) for body in PROCESS.findall(TEXT)]
    assert len(sources) > 100
    assert [body for body in sources if not re.search(r"\\\S|[A-Za-z_]{2}", body)] == []
