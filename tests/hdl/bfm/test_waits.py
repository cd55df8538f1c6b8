"""A bench that does not end says where it waits."""

import re

import pytest
from amaranth import Module, Signal

from lanai_hdl.bfm import Bench, Chip


def test_it_names_the_function_the_line_and_what_it_waits_for():
    async def asks(context, world):
        await context.tick()
        await answered(world)

    async def answered(world):
        await world.firmware.until("SCRATCH0", 7)

    with pytest.raises(TimeoutError) as told:
        Chip(slots=300).run(asks)
    lines = str(told.value).splitlines()
    assert lines[0] == "the bench did not end within 300 slots; it waits in"
    here = r"tests/hdl/bfm/test_waits\.py:\d+"
    assert any(re.fullmatch(rf"  asks, {here}: await answered\(world\)", line) for line in lines), lines
    assert any(
        re.fullmatch(rf'  answered, {here}: await world\.firmware\.until\("SCRATCH0", 7\)', line) for line in lines
    )
    assert any(line.endswith("while await self.load(name) != value:") for line in lines)


def test_it_names_each_process_that_has_not_ended_and_no_other():
    seen = Signal()
    bench = Bench(Module(), slots=20)

    async def ends(context):
        await context.tick()

    async def hangs(context):
        await context.posedge(seen)

    async def hangs_too(context):
        async for _, _, value in context.tick().sample(seen):
            if value:
                return

    async def serves(context):
        while True:
            await context.tick()

    for process in (ends, hangs, hangs_too):
        bench.add(process)
    bench.add_background(serves)
    with pytest.raises(TimeoutError) as told:
        bench.run()
    text = str(told.value)
    assert "await context.posedge(seen)" in text
    assert "async for _, _, value in context.tick().sample(seen):" in text
    assert not re.search("ends,|serves,", text)
