"""The barrier tree over several switches."""

import random

import pytest
from amaranth.back import rtlil
from pairs import first_of

from lanai_hdl.barrier.config import BarrierTree
from lanai_hdl.barrier.csr import BARRIER, LOST
from lanai_hdl.barrier.end import TRIES, timeout
from lanai_hdl.barrier.flit import BarrierKind, pack
from lanai_hdl.bfm import Chip
from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.link.flit import Kind
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig

from .star import WAIT
from .tree import Tree

ONE_SWITCH = 23  # slots from the last NIC's bit to the answer there
A_SWITCH_MORE = 23  # the same again


def test_no_node_passes_before_the_last_has_come():
    Tree().pass_together(6, pause=400)


@pytest.mark.parametrize("last", range(3))
def test_each_switch_on_the_way_adds_its_latency(last):
    """NIC n is n switches below the top."""
    tree = Tree()
    took = []

    async def early(context, node):
        node.write(1)
        await context.tick().repeat(600)

    async def late(context, node):
        await context.tick().repeat(300)
        node.write(1)
        begin = tree.slot
        while not node.seen:
            await context.tick()
        took.append(tree.slot - begin)

    tree.run(*(late if n == last else early for n in range(3)))
    assert took == [ONE_SWITCH + last * A_SWITCH_MORE]


def test_bits_are_barriers_of_their_own():
    tree = Tree()

    def script(bits):
        async def run(context, node):
            node.write(bits)
            await context.tick().repeat(400)
            assert node.seen == 0b0010

        return run

    tree.run(*map(script, (0b0110, 0b1010, 0b0011)))


@pytest.mark.parametrize("seed", first_of(0, 1, 2))
def test_lost_and_damaged_flits_only_delay(seed):
    chance = random.Random(seed)

    def fault(wire, slot, kind, data):
        match chance.randrange(6):
            case 0:
                return Kind.IDLE.value, 0
            case 1:
                return kind, data ^ 1 << chance.randrange(32)
        return kind, data

    Tree(fault, slots=60_000).pass_together(5, slots=20_000)


@pytest.mark.parametrize("wire", first_of(4, 6, 8))
def test_all_learn_of_an_end_that_does_not_hear_the_one_above(wire):
    """Its bits arrive above, so the barrier is passed. The answer does not arrive below: the end
    above is lost, and that below too, as nothing is acknowledged."""
    knows, passed = told_of_a_loss(wire)
    assert knows == {0, 1, 2}
    assert 0 in passed


@pytest.mark.parametrize(("wire", "below"), first_of((7, {1, 2}), (1, {1}), (9, {2})))
def test_those_below_an_end_that_is_not_heard_above_know_it(wire, below):
    """The others wait. An error of these ranks ends the job."""
    assert told_of_a_loss(wire) == (below, set())


def told_of_a_loss(wire):
    """The NICs that know of it, and those that passed, when a wire carries no control flit any
    more."""
    tree = Tree(lambda on, slot, kind, data: (0, 0) if on == wire and slot > 200 else (kind, data))
    knows, passed = set(), set()

    def script(n):
        async def run(context, node):
            await context.tick().repeat(250)
            node.write(1)
            await context.tick().repeat((2 * TRIES + 6) * WAIT)
            knows.update({n} if node.seen & LOST else set())
            passed.update({n} if node.seen & 1 else set())

        return run

    tree.run(*map(script, range(3)))
    return knows, passed


def test_reset_takes_a_nics_bits_back():
    tree = Tree()

    async def resets(context, node):
        node.write(1)
        await context.tick().repeat(300)
        await node.reset()
        await context.tick().repeat(700)
        assert node.seen == 0
        assert await node.passes(1) == 1

    async def waits(context, node):
        await context.tick().repeat(600)
        node.write(1)
        await context.tick().repeat(200)
        assert node.seen == 0  # the other's bit is gone
        assert await node.passes(1) == 1

    tree.run(waits, waits, resets)


def test_it_comes_to_rest():
    """Also a port that leads nowhere, after its tries."""
    tree = Tree()

    async def script(context, node):
        assert await node.passes(1) == 1
        await context.tick().repeat((TRIES + 2) * WAIT)
        assert tree.is_idle(context)

    tree.run(script, script, script)


@pytest.mark.ci
def test_only_a_switch_for_several_has_inputs_for_its_part():
    assert "barrier_parent" not in rtlil.convert(Switch(SwitchConfig(3, barrier=0b111)), name="top")
    assert "barrier_parent" in rtlil.convert(Switch(SwitchConfig(3, barrier=0b111, cascaded=True)), name="top")


def test_a_mask_with_holes_is_refused():
    with pytest.raises(UserError, match="barrier=5 must name all 3 ports, as cascaded=True has it"):
        SwitchConfig(3, barrier=5, cascaded=True)


# The barrier block in a NIC: what the processor and the host see of it.

CONFIG = NicConfig(sram_size=4096, blocks=(BarrierTree(),))
EVENT = 1 << BARRIER.events.BARRIER.bit


async def flit(context, nic, kind, data):
    """One flit to the NIC."""
    context.set(nic.link_rx.kind.as_value(), kind)
    context.set(nic.link_rx.data, data)
    await context.tick()
    context.set(nic.link_rx.kind, Kind.IDLE)


def run(script, slots=20_000):
    """`script(context, world, nic)`, with nothing at the other end of the link."""
    chip = Chip(CONFIG, slots=slots)

    async def process(context, world):
        await script(context, world, chip.nic)

    chip.attach(chip.bench, chip.nic.pio, chip.nic.mem, process, None)
    chip.bench.run()


def test_the_processor_is_told_and_sends_its_bits():
    async def script(context, world, nic):
        firmware = world.firmware
        await firmware.store("BARRIER_BITS", 0x8001)
        await flit(context, nic, BarrierKind.STATE, pack(0x8001, 0, 1))
        assert await firmware.wait(EVENT) & EVENT
        assert await firmware.load("BARRIER_SEEN") == 0x8001
        await firmware.store("ISR", EVENT)
        assert await firmware.load("ISR") & EVENT == 0
        assert await world.host.read_register("BARRIER_BITS") == 0x8001
        await flit(context, nic, BarrierKind.STATE, pack(0, 0, 2) ^ 4)
        await context.tick().repeat(6)
        assert await world.host.read_register("BARRIER_SEEN") == 0x8001
        assert await world.host.read_register("BARRIER_DAMAGED") == 1

    run(script)


def test_a_switch_that_does_not_answer_is_lost():
    async def script(context, world, nic):
        assert await world.firmware.wait(EVENT) & EVENT
        assert await world.firmware.load("BARRIER_SEEN") == LOST
        assert await world.firmware.load("BARRIER_RESENT") == TRIES
        await context.tick().repeat(40)
        assert context.get(nic.blocks["barrier"].idle)

    run(script, (TRIES + 3) * timeout(CONFIG))
