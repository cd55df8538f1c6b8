"""A packet that no receiver takes (NP-19): what waits behind a STOP for ever can be dropped from
either end, and is reported."""

import pytest

from lanai_hdl.bfm import Bench, Pair
from lanai_hdl.bfm.chip import SMALL, Side
from lanai_hdl.config import BlockedAction
from lanai_hdl.machine import Control, Event, SendStart, Status, Verdict
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig
from lanai_hdl.systems import SwitchedNics

WHOLE = SendStart.FIRST | SendStart.LAST
LONG, SHORT = 1200, 40  # bytes; LONG is more than a receiver's FIFO and both cables hold
BLOCKED = 200  # slots


async def take(world):
    """The oldest finished packet, popped."""
    await world.firmware.wait(Event.RECV_DONE)
    verdict, length = await world.firmware.load("RECV_VERDICT"), await world.firmware.load("RECV_LENGTH")
    await world.firmware.store("RECV_VERDICT", 0)
    return verdict, length


async def sent(world, count):
    """Nothing is left to send, and `count` descriptors were."""
    await world.firmware.until("SEND_DONE", count)
    while await world.firmware.load("SEND_STATUS") & Status.BUSY:
        pass


def through_a_switch(nic_config, switch_config, *scripts):
    sides = [Side(nic_config) for _ in scripts]
    top = SwitchedNics([side.nic for side in sides], Switch(switch_config), nic_config.link_latency)
    bench = Bench(top, 12_000)
    for n, (side, script) in enumerate(zip(sides, scripts, strict=True)):
        side.attach(bench, top.pio[n], top.mem[n], script, None)
    bench.run()


@pytest.mark.ci
def test_a_blocked_nic_resets_itself_and_the_path_is_free_again():
    """Receiver without a buffer, configured as the hardware of 1999: its reset drains the switch
    and the sender, and it works anew."""
    config = SMALL.but(blocked_slots=BLOCKED, blocked_action=BlockedAction.RESET)

    async def sender(context, world):
        await world.firmware.send(0x81000000, 0, LONG, WHOLE)
        await sent(world, 1)
        await world.firmware.send(0x81000000, 0x100, SHORT, WHOLE)
        await sent(world, 2)

    async def receiver(context, world):
        await world.host.write_register("CONTROL", Control.RUN)
        while await world.host.read_register("CONTROL") & Control.RUN:
            pass
        await context.tick().repeat(64)
        await world.firmware.post(0x400, 0x800)
        assert await take(world) == (Verdict.VALID, SHORT)
        assert await world.firmware.load("RX_STRAYS") > 0, "what was left of the long packet has no head"

    through_a_switch(config, SwitchConfig(ports=2, nic=config), sender, receiver)


@pytest.mark.ci
def test_a_blocked_switch_drops_and_the_next_packet_passes():
    """The switch gives up first, tail and all: the receiver's part of the packet is reported as
    unsound, the sender never waits for ever."""

    async def sender(context, world):
        await world.firmware.send(0x81000000, 0, LONG, WHOLE)
        await sent(world, 1)
        await context.tick().repeat(6 * BLOCKED)
        await world.firmware.send(0x81000000, 0x100, SHORT, WHOLE)
        await sent(world, 2)

    async def receiver(context, world):
        await context.tick().repeat(6 * BLOCKED)
        await world.firmware.post(0x400, 0x800)
        await world.firmware.post(0x800, 0xC00)
        verdict, length = await take(world)
        assert verdict & (Verdict.CRC | Verdict.TRUNCATED)
        assert length < LONG
        assert await take(world) == (Verdict.VALID, SHORT)
        assert await world.firmware.load("RX_CRC_ERRORS") + await world.firmware.load("RX_TRUNCATED") == 1

    through_a_switch(SMALL, SwitchConfig(ports=2, nic=SMALL, blocked_slots=BLOCKED), sender, receiver)


@pytest.mark.ci
def test_a_sender_behind_a_stop_is_freed_by_its_own_reset():
    """CONTROL.RESET drops what is queued; the far side sees the packet end truncated when the next
    begins."""

    async def sender(context, world):
        await world.firmware.send(0, 0, LONG, WHOLE)
        await context.tick().repeat(800)
        assert await world.firmware.load("SEND_STATUS") & Status.BUSY
        stopped = await world.firmware.load("TX_STOPPED")
        assert stopped > 100, "it stands behind a STOP"
        await world.host.write_register("CONTROL", Control.RESET)
        assert await world.host.read_register("CONTROL") == 0
        assert not await world.firmware.load("SEND_STATUS") & Status.BUSY
        await world.firmware.send(0, 0x100, SHORT, WHOLE)
        await sent(world, 1)

    async def receiver(context, world):
        await context.tick().repeat(1500)
        await world.firmware.post(0x400, 0xC00)
        await world.firmware.post(0xC00, 0x1000)
        verdict, length = await take(world)
        assert verdict & Verdict.TRUNCATED
        assert length < LONG
        assert await take(world) == (Verdict.VALID, SHORT)

    Pair(slots=12_000).run(sender, receiver)
