"""A block that rests does what it does when it is evaluated in every slot: both side by side, with
random inputs. A block that breaks the contract of `NicBlock.wakes` is found out by that."""

import random

import pytest
from amaranth import Cat, ClockDomain, Module, ResetInserter, Signal, Value
from amaranth.lib.wiring import In, Out
from pairs import first_of

from lanai_hdl.bfm import simulator
from lanai_hdl.block import NicBlock
from lanai_hdl.config import lanai41
from lanai_hdl.remote.block import RemoteAdapter
from lanai_hdl.remote.config import Remote
from lanai_sim.engines.gateware.resting import RestingBlock

SEED = 1999


class Adder(NicBlock):
    """For some slots after `ask`, adds up. Slots in which nothing is under way are left alone."""

    ask: In(1)
    value: In(8)
    idle: Out(1)
    total: Out(8)
    seen: Out(8)

    def wakes(self):
        yield self.ask

    def elaborate(self, platform):
        m = Module()
        self.left = Signal(2)
        m.d.comb += self.idle.eq(self.left == 0)
        with m.If(self.ask):
            m.d.comb += self.seen.eq(self.value)
            m.d.sync += [self.left.eq(self.value), self.total.eq(self.total + self.value)]
        with m.Elif(self.left != 0):
            m.d.sync += [self.left.eq(self.left - 1), self.total.eq(self.total + 1)]
        return m


class CountsWhileIdle(Adder):
    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(~self.ask & self.idle):
            m.d.sync += self.total.eq(self.total + 1)
        return m


class KeepsAnInput(Adder):
    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.idle):
            m.d.sync += self.total.eq(self.value)
        return m


class IdleTooSoon(Adder):
    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.idle.eq(self.left <= 1)
        return m


class ShowsAnInput(Adder):
    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.seen.eq(self.value)
        return m


class WakesTooLate(Adder):
    def wakes(self):
        yield self.ask & self.value[0]


def members(block, flow):
    flat = block.signature.flatten(block)
    return {"__".join(map(str, path)): Value.cast(value) for path, member, value in flat if member.flow == flow}


def random_inputs(widths, chances, source):
    """By name: inputs with a chance are mostly 0, the others are anything."""
    return {
        name: source.random() < chances[name] if name in chances else source.getrandbits(width)
        for name, width in widths.items()
    }


def side_by_side(make, slots, chances, *, any_if_idle=(), resets=0.002):
    """Outputs that differ in any of so many slots, and how many slots the block rested.
    Outputs of `any_if_idle` count in slots in which the block is awake."""
    whole, rests, reset, clk = make(), make(), Signal(), Signal()
    resting = RestingBlock(rests, reset)
    m = Module()
    m.domains.sync = domain = ClockDomain(reset_less=True, local=True)
    domain.clk = clk
    m.submodules.whole = ResetInserter(reset)(whole)
    m.submodules.resting = resting
    source = random.Random(SEED)
    inputs = [members(block, In) for block in (whole, resting)]
    outputs, ours = members(whole, Out), members(resting, Out)
    widths = {name: len(value) for name, value in inputs[0].items()}
    found = {"differ": set(), "rested": 0, "unsettled": 0}

    async def bench(ctx):
        await ctx.delay(1e-9)
        awake = True

        async def settle():
            while ctx.get(resting.unsettled):
                ctx.set(resting.input_clk, 0)
                ctx.set(resting.input_clk, 1)

        await settle()
        for _ in range(slots):
            ctx.set(Cat(clk, resting.state_clk, resting.input_clk), 0)
            ctx.set(Cat(clk, resting.state_clk), 1 | awake << 1)
            values = random_inputs(widths, chances, source)
            for ports in inputs:
                ctx.set(Cat(*ports.values()), sum_of(ports, values))
            ctx.set(reset, source.random() < resets)
            await settle()
            now = bool(ctx.get(resting.awake))
            found["unsettled"] += not (now or awake) and bool(ctx.get(resting.unsettled))
            for name, value in outputs.items():
                if (now or name not in any_if_idle) and ctx.get(value) != ctx.get(ours[name]):
                    found["differ"].add(name)
            found["rested"] += not (now or awake)
            awake = now

    simulation = simulator(m)
    simulation.add_testbench(bench)
    simulation.run()
    assert not found["unsettled"], "a block at rest asks for nothing"
    return found["differ"], found["rested"]


def sum_of(ports, values):
    """The value of the ports' `Cat`."""
    word = at = 0
    for name, port in ports.items():
        word |= int(values[name]) << at
        at += len(port)
    return word


ASKED = {"ask": 0.05}


def test_a_block_that_keeps_the_contract_is_the_same():
    differ, rested = side_by_side(Adder, 600, ASKED)
    assert not differ
    assert 150 < rested < 580


@pytest.mark.parametrize("block", [CountsWhileIdle, KeepsAnInput, IdleTooSoon, ShowsAnInput, WakesTooLate])
def test_one_that_breaks_it_is_not(block):
    assert side_by_side(block, 600, ASKED)[0]


def test_a_block_that_names_no_input_is_refused():
    class Silent(Adder):
        def wakes(self):
            return None

    with pytest.raises(TypeError, match="Silent says `rests`"):
        RestingBlock(Silent(), Signal())


def test_a_block_that_survives_the_reset_gets_none():
    class Surviving(Adder):
        survives_reset = True

    resting = RestingBlock(Surviving(), Signal())
    assert isinstance(resting.reset, Value)
    assert Value.cast(resting.reset).value == 0


# Data of a register access, a stream or a bus that is not read while nothing is valid.
ADAPTERS_DATA = ("window__rdata", "bus__burst__payload", "bus__write__payload", "packets_out__payload")
ADAPTERS_CHANCES = {
    "window__request": 0.03,
    "packets_in__valid": 0.02,
    "bus__read__valid": 0.02,
    "bus__written": 0.02,
    "set_peer": 0.01,
    "set_route": 0.01,
    "set_window": 0.01,
    "bus__burst__ready": 0.5,
    "bus__write__ready": 0.5,
    "packets_out__ready": 0.5,
    "bus__refused": 0.1,
}


@pytest.mark.ci
@pytest.mark.parametrize("streams", first_of(2, 0))
def test_the_remote_memory_adapter_rests(streams):
    config = Remote(pages=2, peers=2, processes=1, payload=16, answers=1, streams=streams, stream_bytes=16)
    nic = lanai41().but(blocks=(config,))
    differ, rested = side_by_side(
        lambda: RemoteAdapter(nic, config), 3000, ADAPTERS_CHANCES, any_if_idle=ADAPTERS_DATA, resets=0.0005
    )
    assert not differ
    assert rested > 100
