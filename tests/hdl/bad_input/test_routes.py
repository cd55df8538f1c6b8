"""Routes to where no NIC is: what a NIC alone makes of them, and what a switch does."""

import pytest

from lanai_hdl.bfm import Bench
from lanai_hdl.bfm.chip import Side
from lanai_hdl.machine import Event, Verdict
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig
from lanai_hdl.systems import SwitchedNics

from .bench import CONFIG, PATTERN, WHOLE, Told, survive_on_a_loop

BUFFER = 0x400
PORTS = 3  # of the switch; at the last one is no NIC


def over_a_cable(route):
    """There is no switch to take the route byte: the NIC at the other end drops the packet."""

    async def fault(nic):
        done = await nic.firmware.load("RX_FLITS") + 4
        await nic.firmware.send(route, 0, 8, WHOLE)
        await nic.firmware.until("RX_FLITS", done)
        return Told({"RX_MISROUTED": 1}, Event.LINK_ERROR | Event.SEND_DONE)

    fault.__name__ = f"route {route:#x}"
    return fault


def test_a_nic_drops_what_is_routed_on():
    survive_on_a_loop(*(over_a_cable(route) for route in (0x80000000, 0x85000000, 0xFFFFFFFF, 0x81828384)))


WAYS = {
    "absent port": (0x83000000, {"bad_routes": 1}, {}),
    "port that no switch has": (0xFF000000, {"bad_routes": 1}, {}),
    "no route": (0x00000000, {"bad_routes": 1}, {}),
    "not marked as a hop": (0x01000000, {"bad_routes": 1}, {}),
    "port without a cable": (0x82000000, {"strays": 4}, {}),
    "a hop too many": (0x81810000, {}, {"RX_MISROUTED": 1}),
}


@pytest.mark.ci
def test_through_a_switch_only_what_is_routed_well_arrives():
    """Each bad packet is counted where it ends; the sound one behind it arrives, and all of the
    receiver's SRAM but its buffer stays."""
    sides = [Side(CONFIG) for _ in range(PORTS - 1)]
    switch = Switch(SwitchConfig(ports=PORTS, nic=CONFIG))
    top = SwitchedNics([side.nic for side in sides], switch, CONFIG.link_latency)
    bench = Bench(top, 20_000)
    finished = []

    async def sender(context, world):
        for count, (route, *_) in enumerate(WAYS.values(), 1):
            await world.firmware.send(route, 0, 8, WHOLE)
            await world.firmware.send(0x81000000, 4 * count, 4, WHOLE)
            await world.firmware.until("SEND_DONE", 2 * count)
            while len(finished) < count:
                await context.tick()

    async def receiver(context, world):
        sides[1].poke(context, 0, PATTERN)
        sram, nic_counts = bytearray(PATTERN), {}
        switch_counts = dict.fromkeys(("bad_routes", "blocked", "strays"), 0)
        sides[0].poke(context, 0, bytes(range(64)))
        for count, (name, (_, in_switch, in_nic)) in enumerate(WAYS.items(), 1):
            await world.firmware.post(BUFFER, BUFFER + 64)
            await world.firmware.until("RECV_DONE", count)
            assert await world.firmware.load("RECV_VERDICT") == Verdict.VALID, name
            await world.firmware.store("RECV_VERDICT", 0)
            sram[BUFFER : BUFFER + 4] = bytes(range(4 * count, 4 * count + 4))
            assert sides[1].peek(context, 0, len(PATTERN)) == sram, name
            for counts, more in ((switch_counts, in_switch), (nic_counts, in_nic)):
                for key, value in more.items():
                    counts[key] = counts.get(key, 0) + value
            assert {key: context.get(getattr(switch, key)) for key in switch_counts} == switch_counts, name
            for counter in ("RX_MISROUTED", "RX_STRAYS", "RX_CRC_ERRORS", "RX_TRUNCATED"):
                assert await world.firmware.load(counter) == nic_counts.get(counter, 0), name
            finished.append(name)
        await context.tick().repeat(40)
        assert context.get(top.idle[1])

    for n, (side, script) in enumerate(zip(sides, (sender, receiver), strict=True)):
        side.attach(bench, top.pio[n], top.mem[n], script, None)
    bench.run()
