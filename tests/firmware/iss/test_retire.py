"""Retire records have exactly the changes: replaying them gives the model's state."""

from lanai_firmware.fuzz import Layout, generate
from lanai_firmware.iss import Memory, Processor, Stop
from lanai_firmware.iss.retire import NOTHING, Tracer, trace
from lanai_hdl import machine
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
