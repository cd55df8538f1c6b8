"""Events, the timer, the wait register, CONTROL."""

from lanai_hdl.bfm import Bench
from lanai_hdl.control.control import RESET_SLOTS, Control
from lanai_hdl.control.events import Events, Timer
from lanai_hdl.machine import Control as ControlBits
from lanai_hdl.machine import Event


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
