"""The register file: every register at both ports with the rights of the table, whatever is in the
other's way."""

import random

import pytest
from pairs import first_of, some_of

from lanai_hdl.bfm import Bench, PysimPins
from lanai_hdl.control.register_file import RegisterFile
from lanai_hdl.machine import MACHINE, REGISTERS_SIZE, Access, machine_with, offset
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
