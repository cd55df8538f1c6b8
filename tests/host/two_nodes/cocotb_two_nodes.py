"""cocotb: the two nodes of `body`, on two NICs and a switch."""

import sys
from pathlib import Path

import cocotb

from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_host.bus.bench import BenchBus
from lanai_host.bus.greenlets import run_in_greenlet
from lanai_host.stacks.mpi_np.driver import window_of

sys.path.insert(0, str(Path(__file__).parent))

from body import QUICK, Meeting, node, text


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def two_nodes(dut):
    await begin(dut, QUICK.slot_khz)
    meet, tasks = Meeting(), []
    for n in range(2):
        pio, memory = CocotbPins(dut, f"pio__{n}"), CocotbPins(dut, f"mem__{n}")
        bus = BenchBus(pio, memory, QUICK.slot_khz, window_of(0) // 4096)
        cocotb.start_soon(bus.memory.serve())
        tasks.append(cocotb.start_soon(run_in_greenlet(node, bus, n, meet, QUICK)))
    for n, task in enumerate(tasks):
        came = await task
        assert came == {size: text(1 - n, size) for size in came}
        assert len(came) == 2
