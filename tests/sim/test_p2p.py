"""The figures that mpi-np must reach on the gateware, and what they are (NP-B1 .. NP-B4)."""

import pytest

from lanai_firmware.mcp.plan import McpConfig
from lanai_host.config import pentium2_266
from lanai_sim.benches import p2p


@pytest.mark.slow
def test_figures():
    figures = p2p.measure(pentium2_266(), McpConfig(), 2)
    assert figures["p2p.latency_us.4"] <= 15
    assert figures["p2p.bandwidth_MBps.peak"] >= 100
    assert figures["p2p.bandwidth_MBps.1048576"] >= 0.97 * figures["p2p.bandwidth_MBps.peak"], "no drop past the buffer"
    assert figures["p2p.send_overhead_us.4"] <= 2
