"""The processor outside its model does what the model does: random programs, which read registers, interrupted at
random; and recordings."""

import random

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.csr.declare import Access as Right
from lanai_hdl.machine import REGISTERS, Control, host_offset
from lanai_sim.engines.base import Access, Cable, Layout
from lanai_sim.engines.designs import Design
from lanai_sim.engines.gates.compiled import model
from lanai_sim.engines.gates.outside import QUIET, WORDS
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.kernel.node import words_of

from .random_programs import DATA, RandomProgram

LAYOUT = Layout(lanai41(), 1, (Cable(0, 0, 0, 0),))
SLOTS = 20_000
SRAM = range(0, 0x10000, 4)
OUTSIDE = (15, 27, 43)  # programs that read registers often, and keep the processor outside most of the time


def ran(seed, outside):
    """Return what a host sees that reads and writes at random times, the SRAM in the end, and how many slots the
    processor was outside its model; of a NIC whose processor may leave it, or may not."""
    rng = random.Random(seed)
    engine = RtlEngine(LAYOUT, skip=outside)
    accesses = (0, 20, 100, 400)[seed % 4]
    program = RandomProgram(seed, register_accesses=accesses)
    written = ("SCRATCH1", "SCRATCH2", *(["DOORBELL"] if accesses >= 20 else []))
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
            if rng.random() < 0.5:
                engine.pio(0, [Access(at, True, host_offset(rng.choice(written)), rng.getrandbits(32), tag=1)])
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


@pytest.mark.parametrize(
    "seed", [0, *OUTSIDE, *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(1, 25) if seed not in OUTSIDE)]
)
def test_a_processor_outside_its_model_does_the_same(seed):
    (seen, memory, slots), (known, right, never) = ran(seed, True), ran(seed, False)
    assert seen == known
    assert memory == right
    assert slots > (SLOTS / 2 if seed in OUTSIDE else 0)
    assert never == 0
    assert seen[-1].value == seen[-2].value == 0, "the program trapped"


@pytest.fixture(scope="module")
def core():
    found = model(Design(lanai41())).core
    assert found is not None
    return found


def test_each_word_has_its_bits(core):
    widths = dict.fromkeys(WORDS, 0)
    for word, shift, _, _, _, width in core.pieces:
        assert shift == widths[WORDS[word]], "pieces follow each other"
        widths[WORDS[word]] += width
    assert all(widths.values())
    assert (widths["NOW"], widths["ISSUED_A"], widths["READY_FAULT"]) == (33, 32, 3)


def test_a_read_is_answered_by_what_stays_the_same(core):
    offsets = {register.name: register.offset for register in REGISTERS}
    assert {offsets[name] for name in ("ISR", "ID", "RECV_LIMIT", "RX_PACKETS")} <= {*core.readable}
    assert not {offsets[name] for name in ("CYCLES", "SLOTS_CPU_USED")} & {*core.readable}


def test_the_model_answers_what_the_processor_has_no_right_to_read(core):
    assert not {one.offset for one in REGISTERS if not one.access & Right.PR} & {*core.readable}


def test_all_that_must_be_quiet_is_there(core):
    assert len(core.quiet) == len(QUIET)
