"""The queue in block RAM: slot by slot as Amaranth's, with its output in registers."""

import random

import pytest
from amaranth import Module, unsigned
from amaranth.lib.fifo import SyncFIFOBuffered

from lanai_hdl.bfm import Bench
from lanai_hdl.queue import BlockRamQueue


class Both(BlockRamQueue):
    """The queue, and beside it, put to the same and taken from the same, Amaranth's of that
    depth."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = super().elaborate(platform)
        m.submodules.model = self.model = SyncFIFOBuffered(width=self.shape.width, depth=self.depth)
        m.d.comb += [
            self.model.w_data.eq(self.i.payload),
            self.model.w_en.eq(self.i.valid),
            self.model.r_en.eq(self.o.ready),
        ]
        return m


@pytest.mark.parametrize("depth", [2, 3, 5, 8])
@pytest.mark.parametrize(("puts", "takes"), [(1, 1), (1, 0.3), (0.3, 1), (0.5, 0.5), (0.8, 0.8)])
def test_each_slot_is_as_that_of_amaranths_buffered_fifo(depth, puts, takes):
    dut, chance = Both(unsigned(8), depth), random.Random(depth)
    seen = set()

    async def compare(context):
        for n in range(400):
            context.set(dut.i.valid, chance.random() < puts)
            context.set(dut.i.payload, n % 256)
            context.set(dut.o.ready, chance.random() < takes)
            _clk, _reset, level, ready, valid, payload, *model = await context.tick().sample(
                dut.level,
                dut.i.ready,
                dut.o.valid,
                dut.o.payload,
                dut.model.level,
                dut.model.w_rdy,
                dut.model.r_rdy,
                dut.model.r_data,
            )
            assert [level, ready, valid] == model[:3]
            assert not valid or payload == model[3]
            seen.add(level)

    bench = Bench(dut, 1000)
    bench.add(compare)
    bench.run()
    assert seen >= ({depth - 1, depth} if puts > takes else {0, 1})


def test_a_queue_of_one_entry_is_refused():
    with pytest.raises(ValueError, match="depth=1 of a BlockRamQueue must be at least 2"):
        BlockRamQueue(unsigned(8), 1)
