"""The processor outside its model does what the model does: random programs, which read registers, interrupted at
random; and recordings."""

import random

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.csr.declare import Access as Right
from lanai_hdl.machine import REGISTERS, Control, host_offset
from lanai_sim.engines.base import Access, Cable, Layout
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.engines.specialized import core
from lanai_sim.kernel.node import words_of

from .random_programs import DATA, RandomProgram

LAYOUT = Layout(lanai41(), 1, (Cable(0, 0, 0, 0),))
SLOTS = 20_000
SRAM = range(0, 0x10000, 4)
ISR = next(register.offset for register in REGISTERS if register.name == "ISR")
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


def test_the_word_array_has_a_place_for_each_register():
    places = core.indices()
    assert places["ISSUED"] == places["READY"] + 3
    assert places["WORDS"] == len(core.WORDS) + 2 + 6


def _reads(value, others=("isr", "other"), more=""):
    texts = [f"    vlSelfRef.isr_read \n        = {value};\n    vlSelfRef.other = 1U;\n{more}"]
    return core.reads(texts, {"isr_read": "registers.isr_read", "tx_read": "registers.tx_read"}, others)


def test_a_read_is_answered_by_what_stays_the_same():
    assert _reads("((IData)(vlSelfRef.isr) & 0x0fU)") == {ISR: "((IData)(vlSelfRef.isr) & 0x0fU)"}
    assert _reads("0U") == {ISR: "0U"}


@pytest.mark.parametrize(
    ("value", "others", "more"),
    [
        ("vlSelfRef.isr", ["other"], ""),
        ("(vlSelfRef.isr & local)", ["isr"], ""),
        ("vlSelfRef.isr", ["isr"], "    vlSelfRef.isr_read = 0U;\n"),
        ("vlSelfRef.isr", ["isr"], "    if (vlSelfRef.isr) {\n        vlSelfRef.isr_read = 0U;\n    }\n"),
        ("vlSelfRef.isr; foo()", ["isr", "foo"], ""),
    ],
)
def test_the_model_answers_what_may_follow_from_anything_else(value, others, more):
    assert _reads(value, others, more) == {}


def test_the_model_answers_what_the_processor_has_no_right_to_read():
    host_only = [register.name for register in REGISTERS if not register.access & Right.PR]
    names = {f"{name}_read": f"registers.{name.lower()}_read" for name in host_only}
    assert core.reads([f"    vlSelfRef.{name}_read = 0U;\n" for name in host_only], names, ()) == {}


def test_the_model_of_a_nic_without_hooks_answers_all():
    assert "core_read(const Root*, uint32_t, uint32_t*) { return false; }" in core.none("Root")
