"""While `idle` holds, slots may be left out without a visible change."""

import pytest
from amaranth import Module, Signal
from pairs import first_of

from lanai_hdl.bfm import Bench, HostMemory, LinkSink, LinkSource, PioHost, PysimPins
from lanai_hdl.bfm.chip import Side
from lanai_hdl.machine import Event, HostDmaStart, SendStart


class Skipping(Side):
    """A NIC whose `now` the bench can make jump."""

    def __init__(self):
        super().__init__()
        self.jump = Signal(33)
        now = Signal(33)
        top = Module()
        top.submodules.nic = self.nic
        top.d.sync += now.eq(now + 1 + self.jump)
        top.d.comb += self.nic.now.eq(now)
        self.bench = Bench(top, 6000)


def observe(skip):
    """A little of everything with pauses; in a pause, `skip` slots are left out. Gives what was
    seen, by `now`, and the last registers."""
    side = Skipping()
    nic = side.nic
    seen = []

    async def memory_serves(context):
        memory = HostMemory(PysimPins(context, nic.mem))
        await memory.serve()

    async def sink_serves(context):
        side.sink = LinkSink(PysimPins(context, nic.link_tx))
        await side.sink.serve()

    async def watch(context):
        last_irq = 0
        outputs = (nic.now, nic.link_tx.kind, nic.link_tx.data, nic.mem.valid, nic.mem.addr, nic.pio.rvalid, nic.irq)
        async for _, _, now, kind, data, valid, addr, rvalid, irq in context.tick().sample(*outputs):
            if kind.value or valid or rvalid or irq != last_irq:
                last_irq = irq
                seen.append((now, kind.value, data if kind.value else 0, valid, addr if valid else 0, rvalid, irq))

    async def pause(context):
        """From the first idle slot until 400 slots later by `now`; parity is kept."""
        waited = 0
        while not context.get(nic.idle):
            await context.tick()
            waited += 1
            assert waited < 300, "the NIC never comes to rest"
        resume = context.get(nic.now) + 400
        if skip:
            context.set(side.jump, skip)
            await context.tick()
            context.set(side.jump, 0)
        while context.get(nic.now) < resume:
            await context.tick()

    async def script(context):
        firmware, host = side.bench_processor.actions(context), PioHost(PysimPins(context, nic.pio))
        source = LinkSource(PysimPins(context, nic.link_rx))
        await firmware.store("HOST_IRQ_MASK", Event.HOST_DMA_DONE | Event.TIMER)
        await pause(context)
        await firmware.host_dma(0x103, 0x200, 30, HostDmaStart.TO_SRAM)
        await firmware.send(0, 0x200, 30, SendStart.FIRST | SendStart.LAST)
        await pause(context)
        await firmware.store("ISR", Event.HOST_DMA_DONE)
        await host.write(0x40, 0x1234)
        await firmware.post(0x400, 0x500)
        await pause(context)
        await source.send([1, 2, 3])
        assert await host.read(0x40) == 0x1234
        await pause(context)
        side.last = [
            await firmware.load(name)
            for name in ("CYCLES", "TX_FLITS", "RX_FLITS", "BUS_BEATS", "SLOTS_HDMA_USED", "RECV_DONE")
        ]

    for server in (memory_serves, sink_serves, watch):
        side.bench.add_background(server)
    side.bench.add(script)
    side.bench.run()
    return seen, side.last


@pytest.mark.bench
@pytest.mark.slow
def test_leaving_out_slots_changes_nothing():
    assert observe(0) == observe(200) == observe(390)


@pytest.mark.parametrize("early", first_of(4, 100))
def test_the_timer_fires_at_its_cycle_after_a_jump(early):
    side = Skipping()
    nic = side.nic

    async def script(context):
        firmware = side.bench_processor.actions(context)
        await firmware.store("TIMER", 1000)
        await context.tick().repeat(10)
        assert context.get(nic.idle)
        assert context.get(nic.wake_armed)
        assert context.get(nic.wake_cycle) == 1000
        behind = 2 * 1000 - early - context.get(nic.now) - 1
        context.set(side.jump, behind - behind % 2)
        await context.tick()
        context.set(side.jump, 0)
        isr = await firmware.wait(Event.TIMER)
        assert isr == Event.TIMER
        assert 1000 <= await firmware.load("CYCLES") < 1005
        assert await firmware.load("TIMER") == 0

    side.bench.add(script)
    side.bench.run()


def test_a_nic_with_work_is_not_idle():
    side = Skipping()
    nic = side.nic

    async def script(context):
        host = PioHost(PysimPins(context, nic.pio))
        await context.tick().repeat(5)
        assert context.get(nic.idle)
        await host.write_register("DOORBELL", 1)
        await context.tick()
        assert not context.get(nic.idle)
        await context.tick().repeat(60)
        assert context.get(nic.idle)

    side.bench.add(script)
    side.bench.run()
