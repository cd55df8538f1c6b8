"""The timing rule of register accesses, of every register of the machine."""

import pytest

from lanai_hdl.bfm import Bench
from lanai_hdl.control.csr import CONTROL, TIME
from lanai_hdl.control.register_bank import ROW_BITS, RegisterBank
from lanai_hdl.machine import MACHINE, Access, Behavior

DOORBELL, HOST_SIGNAL = CONTROL.registers.DOORBELL, CONTROL.registers.HOST_SIGNAL
blocks = pytest.mark.parametrize("block", MACHINE.blocks, ids=lambda block: block.title)


def run(bank, script):
    bench = Bench(bank, 2000)
    bench.add(script)
    bench.run()


def side_of(register):
    """Return True if the host writes to the register."""
    return not register.access & Access.PW


def begin(context, bank, register, value, *, by_host):
    """The slot after the access: the bank is shown the write."""
    context.set(bank.access.row, 1 << (register.offset >> ROW_BITS))
    context.set(bank.access.column, 1 << (register.offset % (1 << ROW_BITS) >> 2))
    context.set(bank.access.wdata, value)
    context.set(bank.access.cpu_write, not by_host)
    context.set(bank.access.host_write, by_host)


def end(context, bank):
    context.set(bank.access.cpu_write, 0)
    context.set(bank.access.host_write, 0)
    context.set(bank.access.wdata, 0)


async def write(context, bank, register, value, *, by_host):
    context.set(bank.access.host_addr, register.offset)
    await context.tick()
    begin(context, bank, register, value, by_host=by_host)


@blocks
def test_what_was_written_is_in_effect_in_the_second_slot_or_forwarded(block):
    bank = RegisterBank(block)
    registers = [one for one in bank.block.registers if one.behavior.stores]

    async def script(context):
        for register in registers:
            shown = bank.value(register)
            await write(context, bank, register, 77, by_host=side_of(register))
            assert context.get(shown) == (77 if register.forwarded else 0), register.name
            await context.tick()
            end(context, bank)
            assert context.get(shown) == 77, register.name

    run(bank, script)


@blocks
def test_the_strobe_of_a_command_is_in_the_slot_after_the_access_only(block):
    bank = RegisterBank(block)

    async def script(context):
        for register in (one for one in bank.block.registers if one.behavior.acts):
            for right, strobe in ((Access.PW, bank.written), (Access.HW, bank.written_by_host)):
                if register.access & right:
                    await write(context, bank, register, 1, by_host=right is Access.HW)
                    assert context.get(strobe(register)), register.name
                    await context.tick()
                    end(context, bank)
                    assert not context.get(strobe(register)), register.name

    run(bank, script)


@blocks
def test_a_read_returns_the_value_as_of_the_slot_of_the_access(block):
    bank = RegisterBank(block)

    async def script(context):
        for register in bank.block.registers:
            if register.kept or register.behavior is Behavior.FIXED:
                continue
            context.set(bank.value(register), 5)
            await context.tick()
            context.set(bank.value(register), 6)
            assert context.get(bank.read(register)) == 5, register.name

    run(bank, script)


def test_a_block_clears_what_is_stored_unless_it_is_being_written():
    bank, timer = RegisterBank(TIME), TIME.registers.TIMER

    async def script(context):
        await write(context, bank, timer, 5, by_host=False)
        context.set(bank.clear(timer), 1)
        await context.tick()
        end(context, bank)
        assert context.get(bank.value(timer)) == 5
        await context.tick()
        assert context.get(bank.value(timer)) == 0
        assert context.get(bank.read(timer)) == 5, "of the slot before"

    run(bank, script)


@pytest.mark.parametrize(("register", "host_sets"), [(DOORBELL, True), (HOST_SIGNAL, False)])
def test_one_side_sets_bits_and_the_other_clears_them(register, host_sets):
    bank = RegisterBank(CONTROL)

    async def script(context):
        for sets, bits, before, after in ((1, 0b0110, 0, 0b0110), (0, 0b1010, 0b0110, 0b0100), (1, 1, 0b0100, 0b0101)):
            await write(context, bank, register, bits, by_host=host_sets if sets else not host_sets)
            assert context.get(bank.read(register)) == before
            assert context.get(bank.value(register)) == after
            await context.tick()
            end(context, bank)
            assert context.get(bank.value(register)) == after
            await context.tick()
            assert context.get(bank.read(register)) == after

    run(bank, script)
