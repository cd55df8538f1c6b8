"""Random programs end as they say, and between them they touch everything there is."""

from collections import Counter

import pytest

from lanai_firmware.fuzz import Layout, generate
from lanai_firmware.fuzz.endings import ENDINGS
from lanai_firmware.iss import Memory, Processor, Stop
from lanai_firmware.iss.retire import Tracer
from lanai_hdl import machine
from lanai_hdl.errors import UserError
from lanai_hdl.isa import FORMATS, Access, AluOp, Condition, Function, Reg, decode

LAYOUT = Layout(registers=[machine.offset("SCRATCH0"), machine.offset("SCRATCH1")], passes=2)
SEEDS = range(70)


def load(program):
    processor = Processor(Memory(len(program.image)))
    processor.write(0, program.image)
    return processor


@pytest.fixture(scope="module")
def seen():
    """Return the counts of what the programs of SEEDS executed."""
    counts = Counter()
    for seed in SEEDS:
        processor = load(generate(seed, LAYOUT))
        tracer = Tracer(processor)
        while True:
            slots, flags = processor.slots, processor.flags
            record = tracer.step()
            if record is None:
                counts[processor.trap.cause] += 1
                break
            i = decode(record.word)
            name = i.format.name
            counts[name] += 1
            if "cond" in i.values:
                holds = Condition(i["cond"]).holds(*flags)
                counts[name, "cond", i["cond"], bool(holds)] += 1
            for field in ("op", "function", "access", "pre", "update", "store", "flags"):
                if field in i.values:
                    counts[name, field, i[field]] += 1
            if name == "RRM":
                counts["RRM", i["op"], i["pre"], i["update"]] += 1
            if slots:
                counts["slot", name] += 1
            if record.rd == Reg.PC:
                counts[name, "transfer"] += 1
            if record.address >= machine.REGISTERS_LOCAL:
                counts["on chip", record.store] += 1
    return counts


@pytest.mark.ci
def test_every_program_ends_with_its_trap(seen):
    for seed in SEEDS:
        program = generate(seed, LAYOUT)
        processor = load(program)
        assert processor.run(100_000) is Stop.TRAP
        assert processor.trap.cause is program.cause, seed
    assert set(ENDINGS) <= set(seen)


def test_formats_fields_and_slots(seen):
    for item in FORMATS:
        assert seen[item.name], item.name
        assert seen["slot", item.name] or item.name == "BRR", f"{item.name} in a slot"
    for op in AluOp:
        assert seen["RI", "op", op]
        assert seen["RR", "op", op]
        for mode in range(4):
            assert seen["RRM", op, mode >> 1, mode & 1], (op, mode)
    for function in Function:
        assert seen["SPECIAL", "function", function]
    for access in Access:
        assert seen["RRM", "access", access]
    for name in ("RI", "RR", "RM", "RRM", "SPECIAL", "BR", "SCC", "BRR", "SLS", "SLI", "SPLS"):
        assert seen[name, "transfer"], f"{name} to pc"
    assert seen["on chip", True]
    assert seen["on chip", False]


def test_conditions_both_ways(seen):
    for code in Condition:
        for name in ("RR", "SCC", "BR"):
            for holds in (True, False):
                if code > Condition.F or holds == (code == Condition.T):
                    assert seen[name, "cond", code, holds], (name, code.name, holds)


def test_same_seed_same_program():
    assert generate(7, LAYOUT) == generate(7, LAYOUT)
    assert generate(7, LAYOUT).image != generate(8, LAYOUT).image


def test_layouts_that_cannot_be():
    for size in (0x2000, 0x100000, 0x8002):
        with pytest.raises(UserError, match=f"SRAM of {size} bytes"):
            Layout(size=size)
