"""Queue: order kept, nothing lost, at any pace."""

import pytest
from amaranth import unsigned

from lanai_hdl.bfm import Bench, stream_get, stream_put
from lanai_hdl.queue import Queue


@pytest.mark.parametrize("depth", [1, 2, 3, 8])
@pytest.mark.parametrize(("idle", "pause"), [(0, 0), (0.5, 0), (0, 0.5), (0.4, 0.4)])
def test_what_goes_in_comes_out(depth, idle, pause):
    dut = Queue(unsigned(8), depth)
    values = [(7 * n) % 256 for n in range(60)]
    bench = Bench(dut, 2000)

    async def put(context):
        await stream_put(context, dut.i, values, idle=idle, seed=1)

    async def get(context):
        assert await stream_get(context, dut.o, len(values), pause=pause, seed=2) == values
        assert context.get(dut.level) == 0
        assert context.get(dut.free) == depth
        assert not context.get(dut.o.valid)

    bench.does(put)
    bench.does(get)
    bench.run()


def test_a_full_queue_takes_nothing():
    dut = Queue(unsigned(8), 2)
    bench = Bench(dut, 100)

    async def fill(context):
        context.set(dut.i.valid, 1)
        await context.tick().repeat(2)
        assert context.get(dut.level) == 2
        assert not context.get(dut.i.ready)
        assert context.get(dut.free) == 0

    bench.does(fill)
    bench.run()


def test_a_queue_holds_something():
    with pytest.raises(ValueError, match="depth 0"):
        Queue(unsigned(8), 0)
