"""Benches in cocotb, on the gateware as converted and verilated."""

import sys
from pathlib import Path

import pytest
from amaranth import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.config import NicConfig
from lanai_hdl.link import Cable, Kind, LinkPort, LinkReceiver, LinkTransmitter
from lanai_hdl.nic import Nic
from lanai_hdl.sram import VERILOG
from lanai_hdl.switch import Switch, SwitchConfig
from lanai_hdl.switched_nics import SwitchedNics

sys.path.insert(0, str(Path(__file__).parents[2]))

from cocotb_runner import run

# Each compiles a library, which takes longer than all of its tests.
pytestmark = pytest.mark.slow

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
            again.data.eq(Mux(flit.kind == Kind.TAIL, 0, flit.data)),  # the CRC is made anew
        ]
        wiring.connect(m, transmitter.link, cable.i)
        wiring.connect(m, cable.o, wiring.flipped(self.tx))
        m.d.comb += transmitter.up.eq(receiver.up)
        return m


def bench(component, name, tmp_path):
    run(component, HERE / name, tmp_path, sources=[VERILOG], strip_internal_attrs=True)


def test_link_block(tmp_path):
    bench(Repeater(), "cocotb_link.py", tmp_path)


def test_chip(tmp_path):
    bench(Nic(CONFIG), "cocotb_chip.py", tmp_path)


def test_two_nics_through_a_switch(tmp_path):
    nics = [Nic(CONFIG), Nic(CONFIG)]
    switch = Switch(SwitchConfig(ports=2, nic=CONFIG))
    bench(SwitchedNics(nics, switch, CONFIG.link_latency), "cocotb_two_nics.py", tmp_path)
