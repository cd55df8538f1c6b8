"""`ClearedMemory`: when it may be used after a reset."""

import pytest
from amaranth.sim import Simulator

from lanai_hdl.remote.cleared_memory import ClearedMemory


@pytest.mark.parametrize("depth", [2, 5, 16])
def test_ready_is_told_a_slot_before(depth):
    """`ready` comes `depth` slots after reset and stays; `ready_next` leads it by one slot."""
    dut = ClearedMemory(8, depth)
    seen = []

    async def bench(context):
        for _ in range(depth + 4):
            seen.append((context.get(dut.ready), context.get(dut.ready_next)))
            await context.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    ready = [one for one, _ in seen]
    assert ready == [0] * depth + [1] * 4
    assert [following for _, following in seen[:-1]] == ready[1:]
