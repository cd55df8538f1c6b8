"""Retire records have exactly the changes: replaying them gives the model's state."""

import itertools
import re
from pathlib import Path

import pytest

from lanai_firmware.fuzz import Layout, generate
from lanai_firmware.iss import Memory, PlainRegisters, Processor, Stop
from lanai_firmware.iss.cache import InstructionCache, run_cached
from lanai_firmware.iss.retire import NOTHING, Tracer, trace
from lanai_firmware.iss.timing import SlotClock, Starved, run_timed
from lanai_hdl import machine
from lanai_hdl.errors import UserError
from lanai_hdl.isa import NOP, Condition, Reg, encode
from lanai_hdl.isa.formats import BR, RM, RR, SCC, SLI, SLS, SPLS


def records(*words, limit=None):
    processor = Processor(Memory(0x1000))
    processor.write(0, b"".join(word.to_bytes(4, "big") for word in words))
    return list(trace(processor, limit or len(words)))


def test_replay_gives_the_same_state():
    layout = Layout(registers=[machine.offset("SCRATCH0")])
    for seed in range(12):
        program = generate(seed, layout)
        processor = Processor(Memory(len(program.image)))
        processor.write(0, program.image)
        registers, memory, chip = [0, 0xFFFFFFFF] + [0] * 30, bytearray(program.image), {}
        tracer = Tracer(processor)
        while (record := tracer.step()) is not None:
            if record.base != NOTHING:
                registers[record.base] = record.moved
            if record.rd not in (NOTHING, Reg.PC):
                registers[record.rd] = record.result
            if record.store and record.address < len(memory):
                memory[record.address : record.address + record.size] = record.data.to_bytes(record.size, "big")
            elif record.store:
                chip[record.address - machine.REGISTERS_LOCAL] = record.data
        assert tracer.stop is Stop.TRAP
        assert registers[:2] + registers[3:] == processor.r[:2] + processor.r[3:32]
        assert memory == processor.memory.read(0, len(memory))
        assert all(processor.registers.read(offset) == value for offset, value in chip.items())


def test_fields():
    load, store, update = (
        encode(SPLS, byte=1, rd=20, rs1=0, pre=1, imm=5),
        encode(SLS, store=1, rd=1, address=0x100),
        encode(RM, store=1, rd=20, rs1=21, update=1, pre=1, imm=8),
    )
    a, b, c, d, e = records(load, store, update, encode(SCC, rd=22, cond=Condition.F), encode(SLI, rd=0, imm=3))
    assert (a.pc, a.word, a.rd, a.address, a.size, a.store) == (0, load, 20, 5, 1, False)
    assert (b.rd, b.address, b.size, b.store, b.data) == (NOTHING, 0x100, 4, True, 0xFFFFFFFF)
    assert (c.base, c.moved, c.address, c.data) == (21, 8, 8, a.result)
    assert (d.rd, d.result) == (22, 0)
    assert e.rd == NOTHING, "r0 keeps its value"


def test_transfers_write_pc_only_when_taken():
    taken, slot, untaken = records(encode(BR, target=8), NOP, encode(RR, op=5, cond=Condition.F, rd=Reg.PC, rs2=20))
    assert (taken.rd, taken.result) == (Reg.PC, 8)
    assert slot.rd == NOTHING
    assert untaken.rd == NOTHING


def test_a_trap_retires_nothing():
    assert len(records(NOP, 0xFFFFFFFF, NOP)) == 1


# Slots by hand, for the rule that the lockstep proof checks against the gateware.


LOAD = encode(RM, rd=20, rs1=0)
STORE = encode(RM, store=1, rd=20, rs1=0, pre=1, imm=0x100)
REGISTER = encode(SLS, rd=20, address=machine.local_address("SCRATCH0"))


def loaded(*words):
    processor = Processor(Memory(0x1000), PlainRegisters())
    processor.write(0, b"".join(word.to_bytes(4, "big") for word in words))
    return processor


def slots(words, taken=(0,), waits=(0,)):
    """(fetched, executed, accessed) of each instruction."""
    tracer, clock, told = Tracer(loaded(*words)), SlotClock(taken, waits), []
    for _ in words:
        clock.retire(tracer.step())
        told.append((clock.fetched, clock.executed, clock.accessed))
    return told, clock.slots_used


def test_a_free_bus_gives_an_instruction_a_cycle():
    assert slots([LOAD, NOP, STORE, LOAD]) == ([(0, 2, 3), (2, 4, -1), (4, 6, 7), (6, 8, 9)], 7)


@pytest.mark.parametrize("edge", [(0, 1), (1, 0)])
def test_one_edge_taken_doubles_loads_and_stores(edge):
    told, _ = slots([LOAD, NOP] * 8, edge)
    fetches = [fetched for fetched, _, _ in told]
    assert [fetches[i + 2] - fetches[i] for i in range(8)] == [6] * 8, "three cycles for a plain one and a load"
    plain, _ = slots([NOP] * 8, edge)
    assert [b[0] - a[0] for a, b in itertools.pairwise(plain)] == [2] * 7
    only, _ = slots([LOAD] * 8, edge)
    assert [b[0] - a[0] for a, b in zip(only, only[2:], strict=False)] == [8] * 6, "four each, in turns of 2 and 6"


def test_both_edges_taken_starve():
    with pytest.raises(Starved, match="no slot from 0 on"):
        slots([NOP], (1, 1))


def test_registers_cost_no_slot():
    told, used = slots([REGISTER, NOP, REGISTER], (0, 1))
    assert told == [(0, 2, 3), (2, 4, -1), (4, 6, 7)]
    assert used == 3


def test_a_data_access_goes_before_the_fetch():
    told, _ = slots([LOAD, NOP, NOP], (0, 0, 0, 1, 0, 0, 0, 0))
    assert told == [(0, 2, 4), (2, 5, -1), (5, 7, -1)]


def test_wait_holds_execution_not_fetch():
    told, _ = slots([NOP, NOP, NOP], waits=(0, 0, 1, 1, 1, 0, 0, 0, 0, 0))
    assert told == [(0, 5, -1), (5, 7, -1), (7, 9, -1)]


def test_run_timed_counts_cycles():
    processor = loaded(LOAD, NOP, encode(BR, target=0), STORE)
    clock = SlotClock((0, 1))
    assert run_timed(processor, clock, 400) is Stop.LIMIT
    assert processor.retired == 400
    assert clock.cycles == 100 * 6 + 1, "plain ones take a cycle, the others two, and the last is still in the pipeline"


# The cache model against hand-counted runs.


def loop(length, first=NOP):
    """`length` instructions round and round."""
    processor = Processor(Memory(0x1000))
    words = [first] + [NOP] * (length - 3) + [encode(BR, target=0), NOP]
    processor.write(0, b"".join(word.to_bytes(4, "big") for word in words))
    return processor


def test_a_loop_that_fits_misses_once_a_line():
    cache = InstructionCache(64, line=16)
    assert run_cached(loop(16), cache, 1600) is Stop.LIMIT
    assert (cache.misses, cache.hits, cache.slots_saved) == (4, 1596 - 0, 1600 - 16)


def test_a_loop_too_long_thrashes():
    cache = InstructionCache(64, line=4, ways=16)
    run_cached(loop(17), cache, 1700)
    assert cache.hits == 0
    assert cache.slots_saved == 0


def test_long_lines_can_do_harm():
    cache = InstructionCache(64, line=64)
    processor = Processor(Memory(0x1000))
    for at, target in ((0, 0x100), (0x100, 0)):
        processor.write(at, encode(BR, target=target).to_bytes(4, "big") + NOP.to_bytes(4, "big"))
    run_cached(processor, cache, 400)
    assert cache.slots_saved < 0


def test_a_store_drops_its_line():
    cache = InstructionCache(64, line=16)
    processor = loop(8, encode(RM, store=1, rd=20, rs1=21, pre=1, imm=16))
    processor.r[20] = NOP
    run_cached(processor, cache, 800)
    assert cache.misses == 2 + 100 - 1, "the second line is lost in every pass"


def test_two_ways_hold_what_one_cannot():
    def misses(ways):
        processor = Processor(Memory(0x1000))
        for at, target in ((0, 0x100), (0x100, 0)):
            processor.write(at, encode(BR, target=target).to_bytes(4, "big") + encode(SLI, rd=3).to_bytes(4, "big"))
        cache = InstructionCache(64, line=16, ways=ways)
        run_cached(processor, cache, 400)
        return cache.misses

    assert misses(1) == 200
    assert misses(2) == 2


def test_errors_quote_the_value():
    with pytest.raises(UserError, match="cache size of 48 bytes"):
        InstructionCache(48)
    with pytest.raises(UserError, match="cache line of 2 bytes"):
        InstructionCache(64, line=2)
    with pytest.raises(UserError, match="64 bytes does not divide into 3 ways"):
        InstructionCache(64, ways=3)


@pytest.mark.parametrize("ways", [1, 2, 4, 8])
def test_a_set_keeps_as_many_lines_as_it_has_ways(ways):
    """And then the least recently used one goes."""
    cache = InstructionCache(16 * ways, line=16, ways=ways)
    lines = [16 * number for number in range(ways)]
    assert [cache.fetch(line) for line in 2 * lines] == [False] * ways + [True] * ways
    assert not cache.fetch(16 * ways)
    assert [cache.fetch(line) for line in lines[1:]] == [True] * (ways - 1)
    assert not cache.fetch(lines[0])


# The samples of the golden model's page run.


PAGE = Path(__file__).parents[3] / "docs" / "reference" / "golden-model.md"
SAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("sample", SAMPLES, ids=range(len(SAMPLES)))
def test_sample(sample):
    exec(compile(sample, str(PAGE), "exec"), {"__name__": "sample"})


def test_there_are_samples():
    assert len(SAMPLES) == 4
