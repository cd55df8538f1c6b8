"""The barrier tree: a result that comes when all NICs have set their bits, whatever the wires do."""

import random
from functools import reduce
from itertools import pairwise

import pytest
from amaranth.back import rtlil
from pairs import some_of

from lanai_hdl.barrier.csr import LOST
from lanai_hdl.barrier.end import TRIES
from lanai_hdl.barrier.flit import check_of, pack
from lanai_hdl.config import BlockedAction, lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.link.flit import Kind
from lanai_hdl.nic import Nic
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig

from .star import CONFIG, KINDS, WAIT, Star


def test_no_node_passes_before_the_last_has_come():
    Star().pass_together(4, pause=400)


def test_the_last_one_has_its_answer_after_23_slots():
    """Two cables of 8, and 7 of the switch and of both ends."""
    star = Star(2)
    took = []

    async def first(context, node):
        node.write(1)
        await context.tick().repeat(400)

    async def last(context, node):
        await context.tick().repeat(200)
        node.write(1)
        begin = star.slot
        while not node.seen:
            await context.tick()
        took.append(star.slot - begin)

    star.run(first, last)
    assert took == [23]


def test_bits_are_barriers_of_their_own():
    star = Star(2)

    async def first(context, node):
        node.write(0b0110)
        await star.settle(context)
        assert node.seen == 0
        await context.tick().repeat(1500)
        assert node.seen == 0b0010

    async def second(context, node):
        await context.tick().repeat(1000)
        node.write(0b1010)

    star.run(first, second)


@pytest.mark.parametrize("seed", some_of(1, range(3)))
def test_lost_and_damaged_flits_only_delay(seed):
    """A third of the control flits is lost, damaged or doubled later."""
    chance = random.Random(seed)
    late = []

    def fault(wire, slot, kind, data):
        if kind not in KINDS:
            if late and chance.random() < 0.05:  # an old one once more, on its own wire
                old = chance.choice(late)
                if old[0] == wire and kind == 0:
                    return old[1:]
            return kind, data
        if len(late) < 40:
            late.append((wire, kind, data))
        elif chance.random() < 0.3:
            late.pop(0)
        match chance.randrange(6):
            case 0:
                return Kind.IDLE.value, 0
            case 1:
                return kind, data ^ 1 << chance.randrange(32)
        return kind, data

    Star(fault=fault, slots=60_000).pass_together(5, slots=20_000)


def test_a_nic_that_the_switch_does_not_hear_knows_it():
    """The others wait. Its rank's error ends the job."""
    star = Star(fault=lambda on, slot, kind, data: (0, 0) if on == 1 and slot > 200 else (kind, data))

    async def waits(context, node):
        await context.tick().repeat(250)
        node.write(1)

    async def script(context, node):
        await context.tick().repeat(250)
        assert await node.passes(1, (TRIES + 3) * WAIT) == LOST
        assert star.slot > 250 + TRIES * WAIT

    star.run(waits, script, waits)


def test_all_others_learn_of_a_nic_that_does_not_hear_the_switch():
    star = Star(fault=lambda on, slot, kind, data: (0, 0) if on == 4 and slot > 200 else (kind, data))

    async def script(context, node):
        await context.tick().repeat(250)
        node.write(1)
        while not node.seen & LOST:
            await context.tick().repeat(8)

    star.run(script, script, script)


def test_a_short_loss_of_the_carrier_is_survived_and_a_long_one_is_not():
    ends = {}

    def fault(wire, slot, kind, data):
        return (Kind.DOWN.value, 0) if wire in (0, 3) and 1000 <= slot < ends["up"] else (kind, data)

    for up, lost in ((1000 + 5 * WAIT, 0), (1_000_000, LOST)):
        ends["up"] = up
        star = Star(fault=fault)

        def script(n, star=star, lost=lost):
            async def run(context, node):
                await context.tick().repeat(1100 + 100 * n)
                assert await node.passes(1, 2 * (TRIES + 3) * WAIT) & LOST == lost

            return run

        star.run(*map(script, range(3)))


def test_a_carrier_that_goes_while_all_wait_is_noticed():
    """A result that was on its way is sent again."""
    star = Star(2, fault=lambda wire, slot, kind, data: (7, 0) if wire == 2 and 955 <= slot < 1400 else (kind, data))

    async def waits(context, node):
        assert await node.passes(1) == 1

    async def late(context, node):
        await context.tick().repeat(950)
        assert await node.passes(1) == 1

    star.run(waits, late)
    assert star.slot > 1400


def test_reset_takes_a_nics_bits_back():
    star = Star(2)

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

    star.run(resets, waits)


def test_reset_keeps_what_the_switch_said():
    star = Star(2)

    async def resets(context, node):
        assert await node.passes(1) == 1
        await context.tick().repeat(200)
        await node.reset()
        await context.tick().repeat(300)
        assert node.seen == 1
        await star.settle(context)

    async def stays(context, node):
        assert await node.passes(1) == 1

    star.run(resets, stays)


def test_packets_that_stand_still_do_not_hold_it_up():
    """STOP holds packets, and control flits pass."""
    star = Star(2)
    star.stopped = (0, 1, 2, 3)

    async def script(context, node):
        assert await node.passes(1) == 1

    star.run(script, script)


def test_a_switch_that_resets_itself_keeps_the_bits():
    star = Star(2, blocked_slots=50, blocked_action=BlockedAction.RESET)

    async def first(context, node):
        node.write(1)
        await context.tick().repeat(2500)
        assert context.get(star.switch.resets) > 0
        assert node.seen == 1

    async def second(context, node):
        star.stopped = (3,)  # the packet below cannot leave the switch
        star.fault = lambda wire, slot, kind, data: (1, 0x81 << 24) if wire == 0 and slot == 500 else (kind, data)
        await context.tick().repeat(1500)
        assert await node.passes(1) == 1

    star.run(first, second)


def test_it_comes_to_rest():
    star = Star(2)

    async def script(context, node):
        await node.passes(1)
        await star.settle(context)

    star.run(script, script)
    assert len(star.arrived) <= 2 * 2 * 2 * 2  # of both ends of both links: a state and its answer, twice


def test_control_flits_keep_to_the_links_rate():
    """None stands closer to another flit than the rate has it."""
    config = CONFIG.but(link_kbytes=60_000)  # a flit in 4.4 slots
    slots = []

    def fault(wire, slot, kind, data):
        if wire == 0 and kind:
            slots.append(slot)
        return kind, data

    star = Star(2, fault=fault, config=config)

    async def script(context, node):
        for value in (1, 0, 1):
            await node.passes(value)

    star.run(script, script)
    assert len(slots) >= 6
    assert min(b - a for a, b in pairwise(slots)) >= 5


def test_the_check_finds_damage():
    word = pack(0xA5C3, 1, 77)
    assert reduce(lambda seen, n: seen ^ word >> 8 * n & 0xFF, range(4), 0) == 0xFF
    for length in range(1, 9):
        for at in range(33 - length):
            damaged = word ^ ((1 << length) - 1) << at
            assert check_of(damaged & 0xFFFFFF) != damaged >> 24


@pytest.mark.ci
def test_a_nic_without_it_has_nothing_of_it():
    text = rtlil.convert(Nic(lanai41()), name="top")
    assert "barrier" not in text
    assert "barrier" not in rtlil.convert(Switch(SwitchConfig(4)), name="top")


def test_masks_of_ports_that_are_not_there_are_refused():
    with pytest.raises(UserError, match="barrier=16 must be a mask of the 4 ports"):
        SwitchConfig(4, barrier=16)
