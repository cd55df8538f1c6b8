"""The NIC's registers, wired: what each shows of the blocks, and whom a write tells."""

from amaranth import Mux
from amaranth.lib import wiring

from .machine import COUNTERS, MACHINE_ID, MACHINE_VERSION, Features


def connect_registers(m, nic):
    """Joins ``nic.registers`` with the other blocks of `nic`, a `Nic` being elaborated into `m`."""
    _identity(m, nic)
    _control_registers(m, nic)
    _engine_registers(m, nic)
    _receive_registers(m, nic)
    for counter in COUNTERS:
        name = counter.name.lower()
        m.d.comb += getattr(nic.registers, name).eq(getattr(nic.counters, name))


def _identity(m, nic):
    config, view = nic.config, nic.registers
    depths = (config.hdma_queue, config.send_queue, config.recv_queue, config.completions)
    m.d.comb += [
        view.id.eq(MACHINE_ID),
        view.version.eq(MACHINE_VERSION),
        view.features.eq(Features.CHASE | Features.FOLLOW | Features.CHECK),
        view.sram_size.eq(config.sram_size),
        view.slot_khz.eq(config.slot_khz),
        view.link_kbytes.eq(config.link_kbytes),
        view.link_latency.eq(config.link_latency),
        view.host_bus_khz.eq(config.host_bus_khz),
        view.host_bus_bits.eq(config.host_bus_bits),
        view.queue_depths.eq(int.from_bytes(depths, "big")),
        view.rx_fifo.eq(config.rx_fifo),
        view.max_burst.eq(config.max_burst),
    ]


def _control_registers(m, nic):
    view, events, timer, control = nic.registers, nic.events, nic.timer, nic.control
    m.d.comb += [
        view.open.eq(~control.reset),
        control.write.eq(view.control_host_write),
        control.wdata.eq(view.wdata),
        view.control.eq(control.value),
        view.isr.eq(events.isr),
        events.clear.eq(view.isr_write),
        events.mask.eq(view.wdata),
        view.wait.eq(events.awaited),
        events.wait.eq(view.wait_write),
        events.irq_mask.eq(view.host_irq_mask),
        nic.irq.eq(events.irq),
        view.doorbell.eq(nic.doorbell.value),
        nic.doorbell.ring.eq(view.doorbell_host_write),
        nic.doorbell.clear.eq(view.doorbell_write),
        nic.doorbell.bits.eq(view.wdata),
        view.host_signal.eq(nic.host_signal.value),
        nic.host_signal.ring.eq(view.host_signal_write),
        nic.host_signal.clear.eq(view.host_signal_host_write),
        nic.host_signal.bits.eq(view.wdata),
        view.cycles.eq(nic.now[1:]),
        timer.cycles.eq(nic.now[1:]),
        timer.write.eq(view.timer_write),
        timer.cycle.eq(view.wdata),
        view.timer.eq(timer.value),
        nic.wake_armed.eq(timer.armed),
        nic.wake_cycle.eq(timer.value),
        view.trap_cause.eq(Mux(nic.processor.trap.valid, nic.processor.trap.cause, 0)),
        view.trap_pc.eq(Mux(nic.processor.trap.valid, nic.processor.trap.pc, 0)),
    ]


def _engine_registers(m, nic):
    view = nic.registers
    hdma, send = nic.host_dma, nic.send_dma
    to_hdma, to_send = nic.host_dma_registers, nic.send_dma_registers
    m.d.comb += [
        to_hdma.host.eq(view.hdma_host),
        to_hdma.local.eq(view.hdma_local),
        to_hdma.length.eq(view.hdma_length),
        to_hdma.start.eq(view.hdma_start_write),
        to_hdma.flags.eq(view.wdata),
        to_hdma.free.eq(hdma.free),
        to_hdma.busy.eq(~hdma.idle),
        to_hdma.done.eq(hdma.done),
        to_hdma.error.eq(hdma.error),
        view.hdma_status.eq(to_hdma.status),
        view.hdma_done.eq(to_hdma.completed),
        view.hdma_pointer.eq(hdma.pointer),
        to_send.route.eq(view.send_route),
        to_send.pointer.eq(view.send_pointer),
        to_send.length.eq(view.send_length),
        to_send.start.eq(view.send_start_write),
        to_send.flags.eq(view.wdata),
        to_send.free.eq(send.free),
        to_send.busy.eq(~send.idle),
        to_send.done.eq(send.done),
        to_send.up.eq(nic.receiver.up),
        view.send_status.eq(to_send.status),
        view.send_done.eq(to_send.completed),
        nic.credit.write.eq(view.send_credit_write),
        nic.credit.amount.eq(view.wdata),
        view.send_credit.eq(nic.credit.value),
    ]


def _receive_registers(m, nic):
    view, recv, posted = nic.registers, nic.receive_dma, nic.receive_dma_registers
    wiring.connect(m, recv.completed, posted.finished_packets)
    m.d.comb += [
        posted.pointer.eq(view.recv_pointer),
        posted.limit.eq(view.wdata),
        posted.coming.eq(view.cpu.wdata),
        posted.post_limit.eq(view.recv_limit_write),
        view.recv_limit.eq(posted.limit_value),
        posted.watermark.eq(view.recv_watermark),
        posted.free.eq(recv.free),
        posted.finished.eq(recv.finished),
        posted.up.eq(nic.receiver.up),
        posted.pop.eq(view.recv_verdict_write),
        view.recv_count.eq(posted.count),
        view.recv_current.eq(recv.progress.start),
        view.recv_status.eq(posted.status),
        view.recv_length.eq(posted.length),
        view.recv_buffer.eq(posted.buffer),
        view.recv_verdict.eq(posted.verdict),
        view.recv_done.eq(posted.completed),
    ]
