"""Each wrapper against the models of others, on each simulator that this machine has."""

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.bfm.verilated import SIMULATORS
from lanai_hdl.config import NicConfig
from lanai_hdl.link.cable import Cable
from lanai_hdl.wrap.axi_stream import FlitStream
from lanai_hdl.wrap.tops import LinkEnd, NicTop, prefixed

# Each compiles a NIC, which takes longer than all of its tests.
pytestmark = [pytest.mark.slow, pytest.mark.bench, pytest.mark.parametrize("simulator", SIMULATORS)]

CONFIG = NicConfig(sram_size=16384)


class Loop(wiring.Component):
    """A link's end behind streams, with a cable from its sender to its receiver."""

    def __init__(self):
        super().__init__({**prefixed("s_axis", FlitStream(), In), **prefixed("m_axis", FlitStream(), Out)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.end = end = LinkEnd(CONFIG, streams=True)
        m.submodules.cable = cable = Cable(CONFIG.link_latency)
        wiring.connect(m, end.tx, cable.i)
        wiring.connect(m, cable.o, end.rx)
        for name in FlitStream().members:
            for prefix in ("s_axis", "m_axis"):
                outside, inside = getattr(self, f"{prefix}_{name}"), getattr(end, f"{prefix}_{name}")
                into = (FlitStream().members[name].flow is In) == (prefix == "m_axis")
                m.d.comb += inside.eq(outside) if into else outside.eq(inside)
        return m


@pytest.mark.parametrize("bus", ["axi-lite", "axi4"])
def test_axi(lanai_cocotb, bus, simulator):
    pytest.importorskip("cocotbext.axi")
    lanai_cocotb(NicTop(CONFIG, bus), "cocotb_axi.py", simulator=simulator, environment={"LANAI_BUS": bus})


def test_wishbone(lanai_cocotb, simulator):
    lanai_cocotb(NicTop(CONFIG, "wishbone"), "cocotb_wishbone.py", simulator=simulator)


@pytest.mark.parametrize("top", [pytest.param("nic", marks=pytest.mark.by_hand), "link"])
def test_axi_stream(lanai_cocotb, top, simulator):
    pytest.importorskip("cocotbext.axi")
    component = NicTop(CONFIG, streams=True) if top == "nic" else Loop()
    lanai_cocotb(component, "cocotb_stream.py", simulator=simulator, environment={"LANAI_TOP": top})
