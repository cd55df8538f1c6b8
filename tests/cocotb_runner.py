"""Runs a cocotb bench of the suite; skips it where the machine cannot."""

import pytest

from lanai_hdl.bfm.verilated import missing, run_cocotb


def run(component, module, tmp_path):
    if lacking := missing():
        pytest.skip(lacking)
    run_cocotb(component, module, tmp_path)
