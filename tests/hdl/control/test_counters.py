"""Counters: each is exact, by what stands on the wires; firmware and host read the same, and
reading costs no slot of the LBUS."""

from collections import Counter

from lanai_hdl.bfm import Chip
from lanai_hdl.lbus.masters import MASTERS
from lanai_hdl.link.flit import Kind
from lanai_hdl.machine import COUNTER_NAMES, Event, HostDmaStart, SendStart, Verdict

SIZE = 260
WHOLE = SendStart.FIRST | SendStart.LAST
SERVED = {"hdma": (0,), "pio": (0,), "recv": (1,), "send": (1,), "cpu": (0, 1)}  # parities, NP-56


def watch_slots(nic, counted):
    """Slots used and waited for by each requester, from its own request and grant."""

    async def watch(context):
        ports = [nic.lbus.port(master) for master in MASTERS]
        wires = [wire for port in ports for wire in (port.request, port.grant)]
        async for _, _, now, *values in context.tick().sample(nic.now, *wires):
            for master, request, grant in zip(MASTERS, values[::2], values[1::2], strict=True):
                counted[f"SLOTS_{master.name.upper()}_USED"] += grant
                counted[f"SLOTS_{master.name.upper()}_WAITED"] += request & ~grant & (now & 1 in SERVED[master.name])

    return watch


async def everything(context, world):
    """Both directions of host and link at once, a processor that reads SRAM beside, PIO, doorbells;
    PIO words by direction."""
    firmware, host = world.firmware, world.host
    words = Counter()
    await firmware.post(0x2000, 0x2800)
    await firmware.host_dma(0x10001, 0x100, SIZE, HostDmaStart.TO_SRAM | HostDmaStart.FEED)
    await firmware.send(0, 0x100, SIZE, WHOLE | SendStart.CHASE)
    await firmware.host_dma(0x20002, 0x800, SIZE, HostDmaStart.TO_HOST)
    await host.write_words(0x3000, range(30))
    packet = world.source.packet(range(50))
    for flit in packet:
        await world.source.flits([flit])
        await firmware.read(0x1000)
    for n in range(3):
        await host.write_register("DOORBELL", 1 << n)
    for n in range(20):
        assert await host.read(0x3000 + 4 * n) == n
    words.update(PIO_WRITES=33, PIO_READS=20, DOORBELLS=3, RX_FLITS=len(packet))
    await firmware.until("HDMA_DONE", 2)
    await firmware.wait(Event.RECV_DONE)
    assert await firmware.load("RECV_VERDICT") == Verdict.VALID
    await firmware.store("RECV_VERDICT", 0)
    while not world.sink.packets:
        await context.tick()
    await context.tick().repeat(30)
    return words


def test_counters_are_exact_at_both_doors():
    chip, expected = Chip(), Counter()

    async def script(context, world):
        expected.update(await everything(context, world))
        expected.update(
            BUS_BEATS=len(world.memory.log),
            TX_FLITS=len(world.sink.flits),
            TX_PACKETS=sum(kind is Kind.TAIL for _, kind, _ in world.sink.flits),
            RX_PACKETS=1,
            # A stall may end a burst early, so there are more of them than the transfers need; not
            # many.
            BUS_BURSTS=await world.firmware.load("BUS_BURSTS"),
        )
        assert 2 <= expected["BUS_BURSTS"] <= 12
        slots = dict(expected)
        by_firmware = {name: await world.firmware.load(name) for name in COUNTER_NAMES}
        assert by_firmware == {name: slots.get(name, 0) for name in COUNTER_NAMES}
        assert all(by_firmware[master.used.name] for master in MASTERS)
        assert any(by_firmware[master.waited.name] for master in MASTERS)
        for count, name in enumerate(COUNTER_NAMES):
            value = by_firmware[name] + (count if name == "PIO_READS" else 0)  # the read under way shows later
            assert await world.host.read_register(name) == value, name

    chip.bench.add_background(watch_slots(chip.nic, expected))
    chip.run(script)
