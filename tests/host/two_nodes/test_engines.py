"""The same two nodes under each simulator of the gateware: the Verilated engine, Amaranth's
simulator, cocotb."""

from pathlib import Path

import pytest

from lanai_hdl.bfm.verilated import missing, run_cocotb
from lanai_hdl.nic import Nic
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig
from lanai_hdl.systems import SwitchedNics
from lanai_sim.engines.pysim import PysimEngine
from lanai_sim.kernel.cluster import Cluster, rtl_engine
from lanai_sim.machine.fabrics.switches import star

from .body import CONFIG, EAGER, LONG, QUICK, Meeting, node, text


def on_cluster(make_engine, config):
    cluster = Cluster(star(2), config, make_engine)
    meet = Meeting()
    tasks = [cluster.spawn(n, lambda bus: node(bus, bus.number, meet, config)) for n in range(2)]
    try:
        cluster.run()
    finally:
        cluster.close()
    assert [task.result for task in tasks] == [{size: text(1 - n, size) for size in (EAGER, LONG)} for n in range(2)]


def test_rtl():
    on_cluster(rtl_engine, CONFIG)


@pytest.mark.slow
def test_pysim():
    on_cluster(PysimEngine, QUICK)


@pytest.mark.slow
def test_cocotb(tmp_path):
    if lacking := missing():
        pytest.skip(lacking)
    nics = [Nic(QUICK), Nic(QUICK)]
    switch = Switch(SwitchConfig(ports=2, nic=QUICK))
    component = SwitchedNics(nics, switch, QUICK.link_latency)
    assert run_cocotb(component, Path(__file__).with_name("cocotb_two_nodes.py"), tmp_path) == 1
