"""The processor outside its model does what the model does: random programs, interrupted at random, and recordings."""

import random

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.machine import Control, host_offset
from lanai_sim.engines.base import Access, Cable, Layout
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.engines.specialized import core
from lanai_sim.kernel.node import words_of

from .random_programs import DATA, RandomProgram

LAYOUT = Layout(lanai41(), 1, (Cable(0, 0, 0, 0),))
SLOTS = 20_000
SRAM = range(0, 0x10000, 4)


def ran(seed, outside):
    """Return what a host sees that reads at random times, the SRAM in the end, and how many slots the processor was
    outside its model; of a NIC whose processor may leave it, or may not."""
    rng = random.Random(seed)
    engine = RtlEngine(LAYOUT, skip=outside)
    program = RandomProgram(seed, register_accesses=rng.choice((0, 5, 20)))
    load = [Access(0, True, *word) for at, image in program.bursts for word in words_of(at, image)]
    engine.pio(0, [*load, Access(0, True, host_offset("CONTROL"), int(Control.RUN))])
    engine.run(10 * len(load))
    end = engine.slot(0) + SLOTS
    seen = []
    while engine.slot(0) < end:
        for _ in range(rng.randrange(3)):
            at = engine.slot(0) + rng.randrange(900)
            address = rng.choice((DATA + 4 * rng.randrange(64), host_offset("CYCLES"), host_offset("SLOTS_CPU_USED")))
            engine.pio(0, [Access(at, False, address, tag=1)])
        limit = engine.slot(0) + rng.choice((1, 50, 900, 900))
        while engine.slot(0) < limit:
            seen += engine.run(limit)[1]
        if rng.random() < 0.2:
            seen.append(engine.sram(0, [DATA + 4 * rng.randrange(64)]))
    trap = [Access(0, False, host_offset(name), tag=1) for name in ("TRAP_CAUSE", "TRAP_PC")]
    engine.pio(0, trap)
    seen += [event for _ in range(20) for event in engine.run(engine.slot(0) + 50)[1]]
    memory = engine.sram(0, SRAM)
    slots = engine.outside(0)
    engine.close()
    return seen, memory, slots


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(4, 24))])
def test_a_processor_outside_its_model_does_the_same(seed):
    (seen, memory, slots), (known, right, never) = ran(seed, True), ran(seed, False)
    assert seen == known
    assert memory == right
    assert slots > (SLOTS / 2 if seed < 4 else 0)  # some programs keep it inside most of the time
    assert never == 0
    assert seen[-1].value == seen[-2].value == 0, "the program trapped"


def test_the_word_array_has_a_place_for_each_register():
    places = core.indices()
    assert places["ISSUED"] == places["READY"] + 3
    assert places["WORDS"] == len(core.WORDS) + 2 + 6
