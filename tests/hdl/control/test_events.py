"""Events, the timer, the wait register, CONTROL."""

from collections import Counter

from lanai_hdl.bfm import Bench, Chip
from lanai_hdl.control.control import RESET_SLOTS, Control
from lanai_hdl.control.events import Events, Timer
from lanai_hdl.lbus.masters import MASTERS
from lanai_hdl.link.flit import Kind
from lanai_hdl.machine import COUNTER_NAMES, Event, HostDmaStart, SendStart, Verdict
from lanai_hdl.machine import Control as ControlBits


async def pulse(context, signal):
    context.set(signal, 1)
    await context.tick()
    context.set(signal, 0)


def run(dut, script):
    bench = Bench(dut, 500)
    bench.add(script)
    bench.run()


def test_sticky_events_stay_until_cleared_and_levels_follow():
    dut = Events()

    async def script(context):
        await pulse(context, dut.raised.send_done)
        context.set(dut.raised.doorbell, 1)
        await context.tick().repeat(3)
        assert context.get(dut.isr) == Event.SEND_DONE | Event.DOORBELL
        context.set(dut.mask, Event.SEND_DONE | Event.DOORBELL)
        await pulse(context, dut.clear)
        assert context.get(dut.isr) == Event.DOORBELL
        context.set(dut.raised.doorbell, 0)
        await context.tick()
        assert context.get(dut.isr) == 0
        assert context.get(dut.idle)

    run(dut, script)


def test_an_event_in_the_slot_of_its_clear_is_not_lost():
    dut = Events()

    async def script(context):
        await pulse(context, dut.raised.send_done)
        context.set(dut.mask, Event.SEND_DONE)
        context.set(dut.raised.send_done, 1)
        await pulse(context, dut.clear)
        context.set(dut.raised.send_done, 0)
        assert context.get(dut.isr) == Event.SEND_DONE

    run(dut, script)


def test_wait_ends_with_an_event_of_its_mask():
    dut = Events()

    async def script(context):
        context.set(dut.mask, Event.RECV_DONE | Event.TIMER)
        await pulse(context, dut.wait)
        await pulse(context, dut.raised.send_done)
        await context.tick().repeat(3)
        assert context.get(dut.waiting)
        await pulse(context, dut.raised.timer)
        await context.tick()
        assert not context.get(dut.waiting)
        assert context.get(dut.awaited) == Event.TIMER
        context.set(dut.mask, 0)
        await pulse(context, dut.wait)
        assert not context.get(dut.waiting), "a mask of 0 would wait for ever"

    run(dut, script)


def test_the_host_is_interrupted_by_what_it_asked_for():
    dut = Events()

    async def script(context):
        context.set(dut.irq_mask, Event.HOST_SIGNAL)
        await pulse(context, dut.raised.send_done)
        await context.tick().repeat(2)
        assert not context.get(dut.irq)
        context.set(dut.raised.host_signal, 1)
        await context.tick().repeat(2)
        assert context.get(dut.irq)

    run(dut, script)


def test_the_timer_fires_once_even_if_it_is_late():
    dut = Timer()

    async def script(context):
        for now, target in ((10, 13), (0xFFFFFFFE, 2), (100, 90)):
            context.set(dut.cycles, now)
            context.set(dut.value, target)
            await pulse(context, dut.write)
            fired = []
            for step in range(16):
                context.set(dut.cycles, (now + step // 2) & 0xFFFFFFFF)
                cleared = context.get(dut.fired)
                if cleared:
                    fired.append((now + step // 2) & 0xFFFFFFFF)
                await context.tick()
                if cleared:
                    context.set(dut.value, 0)
            assert fired == [target if target != 90 else 100]
            assert not context.get(dut.armed)

    run(dut, script)


def test_control_runs_and_resets():
    dut = Control()

    async def write(context, value):
        """Ends in the slot of the strobe."""
        await context.tick()
        context.set(dut.wdata, value)
        context.set(dut.write, 1)
        assert context.get(dut.run) == bool(value & ControlBits.RUN)
        assert context.get(dut.reset) == bool(value & ControlBits.RESET)

    async def lasts(context):
        slots = 0
        while context.get(dut.reset):
            slots += 1
            await context.tick()
            context.set(dut.write, 0)
        return slots

    async def script(context):
        await write(context, ControlBits.RUN)
        await write(context, ControlBits.RESET | ControlBits.RUN)
        assert await lasts(context) == RESET_SLOTS
        assert context.get(dut.run)
        await pulse(context, dut.blocked)
        assert not context.get(dut.run)
        assert await lasts(context) == RESET_SLOTS
        # Both in one slot: what was blocked stays stopped.
        context.set(dut.blocked, 1)
        await context.tick()
        context.set(dut.blocked, 0)
        context.set(dut.wdata, ControlBits.RUN)
        context.set(dut.write, 1)
        assert not context.get(dut.run)
        assert await lasts(context) == RESET_SLOTS
        assert not context.get(dut.run)

    run(dut, script)


# Counters: each is exact, by what stands on the wires; firmware and host read the same, and
# reading costs no slot of the LBUS.

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
