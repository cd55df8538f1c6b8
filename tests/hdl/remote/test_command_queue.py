"""The queues of started commands: each process's in order, processes in turn."""

import random

import pytest
from amaranth import Cat, Const, Module, Signal
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench
from lanai_hdl.remote.command_queue import COMMAND_BITS, CommandQueue
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.tables import COMMANDS


class Rig:
    """The component, what waits in it by process, and what was taken: (process, number of the command
    among its process's)."""

    def __init__(self, processes, seed=0):
        self.chance = random.Random(seed)
        self.dut = CommandQueue(Remote(processes=processes))
        self.waiting = [[] for _ in range(processes)]  # (command's buffer, number)
        self.free = [list(range(COMMANDS)) for _ in range(processes)]
        self.numbers = [0] * processes
        self.taken = []

    def start(self, context, process):
        """In this slot."""
        command = self.free[process].pop(self.chance.randrange(len(self.free[process])))
        self.waiting[process].append((command, self.numbers[process]))
        self.numbers[process] += 1
        context.set(self.dut.put, 1)
        context.set(self.dut.buffer, process << COMMAND_BITS | command)

    async def slot(self, context, *, take=0, again=0):
        """Gives the process and buffer of the command that was taken, if any."""
        port = self.dut.o
        context.set(port.again, again)
        take = take and context.get(port.waiting)
        context.set(port.take, take)
        buffer = context.get(port.buffer)
        await context.tick()
        for signal in (self.dut.put, port.take, port.again):
            context.set(signal, 0)
        if not take:
            return None
        process = buffer >> COMMAND_BITS
        command, number = self.waiting[process].pop(0)
        assert buffer % COMMANDS == command, "not the oldest one of its process"
        self.taken.append((process, number))
        return process, command, number

    def run(self, script):
        bench = Bench(self.dut, 20_000)
        bench.add(script)
        bench.run()


@pytest.mark.parametrize("processes", [1, 2, 8])
def test_a_command_waits_for_nothing_if_it_is_alone(processes):
    rig = Rig(processes)

    async def script(context):
        for process in range(processes):
            rig.start(context, process)
            await rig.slot(context)
            assert await rig.slot(context, take=1) is not None
            assert await rig.slot(context, take=1) is None

    rig.run(script)
    assert rig.taken == [(process, 0) for process in range(processes)]


def test_processes_take_turns():
    rig = Rig(4)

    async def script(context):
        for process in (2, 2, 2, 0, 3, 0):
            rig.start(context, process)
            await rig.slot(context)
        for _ in range(20):
            await rig.slot(context, take=1)

    rig.run(script)
    assert rig.taken == [(2, 0), (3, 0), (0, 0), (2, 1), (0, 1), (2, 2)]


def test_a_command_that_is_put_back_is_before_those_of_its_process_and_behind_others():
    rig = Rig(2)

    async def script(context):
        for process in (0, 0, 1, 1):
            rig.start(context, process)
            await rig.slot(context)
        process, *first = await rig.slot(context, take=1)
        await rig.slot(context)
        await rig.slot(context)
        assert context.get(rig.dut.o.others)
        rig.waiting[process].insert(0, tuple(first))
        await rig.slot(context, again=1)
        for _ in range(20):
            await rig.slot(context, take=1)

    rig.run(script)
    assert rig.taken == [(0, 0), (1, 0), (0, 0), (1, 1), (0, 1)]


@pytest.mark.parametrize("processes", [1, 2, 8])
def test_any_order_of_starts_turns_and_ends(processes):
    """Between two turns of a process that waits, no other one has two."""
    rig = Rig(processes, seed=processes)
    chance = rig.chance

    async def script(context):
        current, idle = None, 0  # what was taken last, if it has not ended
        since = [[] for _ in range(processes)]  # turns of others while this one has waited
        for _ in range(3000):
            process = chance.randrange(processes)
            if rig.free[process] and chance.random() < 0.3:
                rig.start(context, process)
            if current is None:
                taken = await rig.slot(context, take=1)
                idle = 0 if taken or not any(rig.waiting) else idle + 1
                assert idle < 4, "a command waits and is not offered"
                if taken is not None:
                    current = taken
                    since[taken[0]] = []
                    for other in range(processes):
                        if rig.waiting[other] and other != taken[0]:
                            since[other].append(taken[0])
                            assert since[other].count(taken[0]) <= 2, (other, since[other])
                for _ in range(3):  # as the cutter needs them
                    await rig.slot(context)
            elif context.get(rig.dut.o.others) and chance.random() < 0.5:
                rig.waiting[current[0]].insert(0, current[1:])
                await rig.slot(context, again=1)
                current = None
            else:
                if chance.random() < 0.3:
                    rig.free[current[0]].append(current[1])
                    current = None
                await rig.slot(context)

    rig.run(script)
    assert len(rig.taken) > 300


class TurnsSpec(wiring.Component):
    """While a command of one process waits, no other process has two turns.

    By induction, for any two of four processes. Assumed of the host: no more commands of a process are
    started than it has buffers. Assumed of the cutter: what `CommandQueuePort` says of `take` and `again`.
    """

    PROCESSES = 4

    def __init__(self):
        self.dut = CommandQueue(Remote(processes=self.PROCESSES))
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        port = dut.o
        for signal in (dut.put, dut.buffer, port.take, port.again):
            m.d.comb += signal.eq(AnySeq(len(signal)))
        bits = len(dut.last)
        waiting, other = AnyConst(bits), AnyConst(bits)
        of_new, taken = Signal(bits), Signal(bits)
        levels, waits = self._levels(m)
        out = Signal()  # the command that was taken last has not been put back
        m.d.sync += [of_new.eq(dut.buffer[COMMAND_BITS:]), out.eq(port.take | (out & ~port.again))]
        more = Cat(
            (level + (dut.begun & (of_new == n)) + (port.again & (dut.last == n))) <= COMMANDS
            for n, level in enumerate(levels)
        )
        m.d.comb += [
            taken.eq(port.buffer[COMMAND_BITS:]),
            Assume(waiting != other),
            Assume(dut.buffer[COMMAND_BITS:] < self.PROCESSES),
            Assume(more.all()),
            Assume(~port.take | port.waiting),
            Assume(~port.again | (port.others & out & ~port.take)),
        ]
        came, seen, had = Signal(), Signal(), Signal()  # it waited a slot ago, two ago; the other had a turn since
        stays = waits.bit_select(waiting, 1) & ~(port.take & (taken == waiting))
        m.d.sync += [came.eq(stays), seen.eq(came & stays)]
        with m.If(port.take):
            with m.If(taken == waiting):
                m.d.sync += had.eq(0)
            with m.Elif(seen & (taken == other)):
                m.d.sync += had.eq(1)
                m.d.comb += Assert(~had, "a second turn")
        # How the registers are linked, for the induction: turns go round from the other process.
        far, gone = Signal(bits), Signal(bits)  # steps round
        m.d.comb += [far.eq(waiting - other), gone.eq(dut.last - other)]
        m.d.comb += Assert(~seen | came)
        m.d.comb += Assert(~came | waits.bit_select(waiting, 1))
        with m.If(had):
            m.d.comb += Assert(seen & (gone < far))
        for holds, owner in ((dut.ready, dut.next), (dut.found, dut.chosen)):
            goes = Signal(bits)
            m.d.comb += goes.eq(owner - other)
            with m.If(holds):
                m.d.comb += Assert(waits.bit_select(owner, 1))
                with m.If(had):
                    m.d.comb += Assert((goes > gone) & (goes <= far))
        m.d.comb += Assert(~dut.ready | (dut.next_head == dut.heads[dut.next]))
        with m.If(port.others):
            m.d.comb += Assert((waits & ~(Const(1, self.PROCESSES) << dut.last)).any())
        with m.If(out):
            m.d.comb += Assert((dut.last_head + 1)[:-1] == dut.heads[dut.last])
        m.d.comb += [Assert(level <= COMMANDS) for level in levels]
        return m

    def _levels(self, m):
        """Return how many commands of each process wait, and whether one does."""
        levels = [Signal(COMMAND_BITS + 1, name=f"level_{n}") for n in range(self.PROCESSES)]
        waits = Signal(self.PROCESSES)
        m.d.comb += waits.eq(Cat(level != 0 for level in levels))
        for n, level in enumerate(levels):
            m.d.comb += level.eq(self.dut.tails[n] - self.dut.heads[n])
        return levels, waits


def test_a_command_waits_for_one_turn_of_each_other_process(prove):
    prove(TurnsSpec(), depth=3)
