"""The register file: every register at both ports with the rights of the table, whatever is in the
other's way."""

import random

import pytest
from amaranth import Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from pairs import first_of, some_of

from lanai_hdl.bfm import Bench, PysimPins
from lanai_hdl.control.csr import CONTROL, TIME
from lanai_hdl.control.register_bank import ROW_BITS, RegisterBank
from lanai_hdl.control.register_file import RegisterFile
from lanai_hdl.control.register_reader import RegisterReader
from lanai_hdl.csr.declare import Access as Access_register_reader
from lanai_hdl.csr.declare import Behavior as Behavior_register_reader
from lanai_hdl.csr.declare import Register
from lanai_hdl.machine import MACHINE, REGISTERS_SIZE, Access, Behavior, machine_with, offset
from lanai_hdl.remote.csr import REMOTE

MACHINES = {"plain": MACHINE, "with the adapter": machine_with(REMOTE)}


@pytest.fixture(params=some_of(1, MACHINES.values()), ids=MACHINES)
def machine(request):
    return request.param


class BothPorts:
    """Both ports of a register file whose views all show a value of their own."""

    def __init__(self, context, dut):
        self.context, self.dut = context, dut
        self.cpu, self.host = PysimPins(context, dut.cpu), PysimPins(context, dut.host)
        registers = dut.machine.registers
        self.kept = [register for register in registers if register.kept]
        self.values = {register.name: 0 for register in self.kept}
        for register in registers:
            if not register.kept:
                self.values[register.name] = 0x1000 + register.offset
                context.set(dut.value(register), self.values[register.name])

    async def load(self, addr):
        self.cpu.set(addr=addr, read=1)
        await self.cpu.step()
        self.cpu.set(read=0)
        return (await self.cpu.step("rdata"))[0]

    async def store(self, addr, value):
        self.cpu.set(addr=addr, write=1, wdata=value)
        await self.cpu.step()
        self.cpu.set(write=0)

    async def access(self, addr, write, value=0):
        """The host's; gives what was read."""
        self.host.set(request=1, write=write, addr=addr, wdata=value)
        while not (await self.host.step("grant"))[0]:
            pass
        self.host.set(request=0)
        return (await self.host.step("rdata"))[0]


def run(machine, script):
    dut = RegisterFile(machine)
    bench, told = Bench(dut, 5000), []

    async def watch(context):
        acting = [register for register in machine.registers if register.behavior.acts]
        strobes = {f"{r.name.lower()}_write": dut.written(r) for r in acting if r.access & Access.PW}
        strobes |= {f"{r.name.lower()}_host_write": dut.written_by_host(r) for r in acting if r.access & Access.HW}
        names = list(strobes)
        async for _, _, unknown, *marks in context.tick().sample(dut.unknown, *strobes.values()):
            told.extend(name for name, mark in zip(names, marks, strict=True) if mark)
            told.extend(["unknown"] * unknown)

    async def process(context):
        await script(BothPorts(context, dut), told)

    bench.add_background(watch)
    bench.add(process)
    bench.run()


def test_each_side_reads_what_it_may(machine):
    async def script(ports, told):
        for register in machine.registers:
            value = ports.values[register.name]
            assert await ports.load(register.offset) == (value if register.access & Access.PR else 0), register.name
            read = await ports.access(register.offset, 0)
            assert read == (value if register.access & Access.HR else 0), register.name
        assert told == []

    run(machine, script)


def test_each_side_writes_what_it_may(machine):
    async def script(ports, told):
        for n, register in enumerate(machine.registers, 1):
            name, before = register.name.lower(), 0
            for right, port, write in (
                (Access.PW, "_write", ports.store(register.offset, n)),
                (Access.HW, "_host_write", ports.access(register.offset, 1, n + 0x100)),
            ):
                told.clear()
                await write
                await ports.context.tick().repeat(2)
                may = bool(register.access & right)
                assert told == ([name + port] if may and register.behavior.acts else []), register.name
                if register.behavior.stores:
                    before = (n if right is Access.PW else n + 0x100) if may else before
                    assert ports.context.get(ports.dut.value(register)) == before

    run(machine, script)


def test_where_no_register_is(machine):
    known = {register.offset for register in machine.registers}
    holes = [hole for hole in range(0, REGISTERS_SIZE, 4) if hole not in known]

    async def script(ports, told):
        for hole in random.Random(1).sample(holes, 20):
            assert await ports.load(hole) == 0
            await ports.store(hole, 0xFFFFFFFF)
            assert told == [], "the processor's mistake is the processor's"
            assert await ports.access(hole, 0) == 0
            await ports.access(hole, 1, 0xFFFFFFFF)
            assert told == ["unknown"] * 2
            told.clear()
        assert all(ports.context.get(ports.dut.value(register)) == 0 for register in ports.kept)

    run(machine, script)


@pytest.mark.parametrize("eagerness", first_of(0.3, 0.9))
def test_the_processor_goes_first_and_neither_sees_the_others(machine, eagerness):
    """Both work at once on registers of their own; the host waits, and gets what it wrote."""

    async def script(ports, told):
        chance, waited, mine = random.Random(2), 0, 0
        ports.host.set(request=1, write=1, addr=offset("SCRATCH1"), wdata=77)
        for n in range(100):
            busy = chance.random() < eagerness
            ports.cpu.set(addr=offset("SCRATCH0"), write=int(busy), wdata=n)
            mine = n if busy else mine
            (grant,) = await ports.host.step("grant")
            assert grant == (not busy)
            waited += busy
        ports.cpu.set(write=0)
        ports.host.set(request=0)
        await ports.context.tick().repeat(2)
        assert waited > 10
        assert await ports.load(offset("SCRATCH0")) == mine
        assert await ports.access(offset("SCRATCH1"), 0) == 77

    run(machine, script)


# The timing rule of register accesses, of every register of the machine.

DOORBELL, HOST_SIGNAL = CONTROL.registers.DOORBELL, CONTROL.registers.HOST_SIGNAL
blocks = pytest.mark.parametrize("block", MACHINE.blocks, ids=lambda block: block.title)


def run_register_bank(bank, script):
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

    run_register_bank(bank, script)


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

    run_register_bank(bank, script)


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

    run_register_bank(bank, script)


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

    run_register_bank(bank, script)


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

    run_register_bank(bank, script)


# The reader: constant registers, which it reads by multiplexers, and ordinary ones, in one row and in
# rows of their own.

ORDINARY = 0x5A5A_A5A5
CONSTANTS = {0x00: 0xFFFF_FFFF, 0x08: 0x8000_0001, 0x0C: 0, 0x7C: 0x1234_5678, 0x100: 0xDEAD_BEEF, 0x10C: 0x0F0F_F0F0}
SECRET = {0x0C, 0x10C}  # the host has no right to read these
ORDINARIES = {0x04, 0x10, 0x104, 0x180}


def register(offset, behavior):
    access = Access_register_reader.PR if offset in SECRET else Access_register_reader.RO
    return Register(f"R{offset:X}", offset, access, behavior, "one of this test's")


class Reads(wiring.Component):
    """A reader by itself: an access in each slot with `reads`, what it reads one slot later."""

    addr: In(range(REGISTERS_SIZE))
    reads: In(1)
    by_host: In(1)
    ordinary: In(32)
    rdata: Out(32)
    known: Out(1)

    def elaborate(self, platform):
        m = Module()
        readable = [
            (register(offset, Behavior_register_reader.FIXED), Const(value, 32)) for offset, value in CONSTANTS.items()
        ]
        readable += [(register(offset, Behavior_register_reader.VIEW), self.ordinary ^ offset) for offset in ORDINARIES]
        registers, values = zip(*readable, strict=True)
        reader = RegisterReader(registers)
        rights = (~self.by_host, Access_register_reader.PR), (self.by_host, Access_register_reader.HR)
        m.d.sync += reader.look(self.addr, [(self.addr, self.reads & side, right) for side, right in rights])
        rdata, known = reader.choose(values)
        m.d.comb += [self.rdata.eq(rdata), self.known.eq(known)]
        return m


@pytest.mark.parametrize("by_host", [0, 1], ids=["processor", "host"])
def test_constants_read_as_declared_beside_ordinary_registers(by_host):
    dut = Reads()
    bench = Bench(dut, 1000)
    expected = CONSTANTS | {offset: ORDINARY ^ offset for offset in ORDINARIES}
    if by_host:
        expected |= dict.fromkeys(SECRET, 0)

    async def process(context):
        pins = PysimPins(context, dut)
        pins.set(by_host=by_host, ordinary=ORDINARY)
        offsets = range(0, 0x200, 4)
        for reads in (1, 0):
            before = None
            for register in (*offsets, 0):
                pins.set(addr=register, reads=reads)
                rdata, known = await pins.step("rdata", "known")
                if before is not None:
                    assert rdata == (expected.get(before, 0) if reads else 0), hex(before)
                    assert known == (before in expected), hex(before)
                before = register

    bench.add(process)
    bench.run()
