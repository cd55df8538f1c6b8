"""Slots by hand, for the rule that the lockstep proof checks against the gateware."""

import itertools

import pytest

from lanai_firmware.iss import Memory, PlainRegisters, Processor, Stop
from lanai_firmware.iss.retire import Tracer
from lanai_firmware.iss.timing import SlotClock, Starved, run_timed
from lanai_hdl import machine
from lanai_hdl.isa import NOP, encode
from lanai_hdl.isa.formats import BR, RM, SLS

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
