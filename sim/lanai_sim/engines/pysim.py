"""The `pysim` engine: Amaranth's own simulator, a thousand times slower than `rtl` and its referee
in small tests."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.sim import Simulator

from lanai_hdl.link.cable import Cable as CableLine
from lanai_hdl.link.flit import Kind
from lanai_hdl.nic import Nic
from lanai_hdl.sram.memory import MemorySram

from .base import NEVER, Access, Engine, Event, EventKind, Layout
from .gateware.units import unit
from .pages import HostPages

ENOUGH = 1000  # slots in one call of `run`
STILL_SLOTS = 4  # slots that all must have been idle, beyond the cables' latency, before the engine says so


class _Host:
    """The host of one NIC: accesses to perform, memory, words that are watched."""

    def __init__(self, number: int, nic: Nic, sram: MemorySram) -> None:
        self.number = number
        self.nic = nic
        self.sram = sram
        self.accesses: deque[Access] = deque()
        self.pages = HostPages()
        self.refused = 0
        self.watches: list[tuple[int, int, int]] = []  # tag, address, seen
        self.events: list[Event] = []
        self.reading = False
        self.answer = (0, 0, 0)  # valid, data, error
        self.irq = 0

    def slot(self, context: Any, slot: int) -> None:
        """Look at the outputs of this slot and set its inputs."""
        pio, mem = self.nic.pio, self.nic.mem
        context.set(mem.rvalid, self.answer[0])
        context.set(mem.rdata, self.answer[1])
        context.set(mem.rerror, self.answer[2])
        self.answer = self._beat(context, slot) if context.get(mem.valid) else (0, self.answer[1], self.answer[2])
        irq = context.get(self.nic.irq)
        if irq and not self.irq:
            self.events.append(Event(slot, EventKind.IRQ, self.number, 0, 0))
        self.irq = irq
        if self.reading and context.get(pio.rvalid):
            access = self.accesses.popleft()
            if access.tag:
                value = context.get(pio.rdata)
                self.events.append(Event(slot + 1, EventKind.PIO_DONE, self.number, access.tag, value))
            self.reading = False
            context.set(pio.valid, 0)
            return
        offered = bool(self.accesses) and not self.reading and self.accesses[0].slot <= slot
        context.set(pio.valid, offered)
        if offered:
            self._offer(context, slot)

    def _offer(self, context: Any, slot: int) -> None:
        pio, access = self.nic.pio, self.accesses[0]
        context.set(pio.write, access.write)
        context.set(pio.addr, access.address)
        context.set(pio.wdata, access.data)
        context.set(pio.be, access.be)
        if not context.get(pio.ready):
            return
        if not access.write:
            self.reading = True
            return
        self.accesses.popleft()
        if access.tag:
            self.events.append(Event(slot + 1, EventKind.PIO_DONE, self.number, access.tag, 0))

    def _beat(self, context: Any, slot: int) -> tuple[int, int, int]:
        """(valid, data, error) of the next slot."""
        mem = self.nic.mem
        address, write = context.get(mem.addr), context.get(mem.write)
        try:
            if not write:
                return 1, self.pages.read(address), 0
            value = self.pages.write(address, context.get(mem.wdata), context.get(mem.be))
        except OSError:
            self.refused += 1
            return 1, self.answer[1] if write else 0xDEADDEAD, 1
        for tag, watched, seen in self.watches:
            if watched == address and value != seen:
                self.events.append(Event(slot + 1, EventKind.WATCH, self.number, tag, 0))
        return 1, self.answer[1], 0


class PysimEngine(Engine):
    """All units under one clock."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        top = Module()
        self._now = Signal(33)
        top.d.sync += self._now.eq(self._now + 1)
        self._hosts: list[_Host] = []
        self._switches: list[Any] = []
        for number in range(layout.nics):
            sram = MemorySram(layout.nic)
            nic = Nic(layout.nic, sram=sram)
            top.submodules[f"nic{number}"] = nic
            top.d.comb += [nic.now.eq(self._now), nic.mem.ready.eq(1)]
            self._hosts.append(_Host(number, nic, sram))
        for number in range(layout.switches):
            assert layout.switch is not None
            switch = unit(layout.switch)
            top.submodules[f"switch{number}"] = switch
            self._switches.append(switch)
            if layout.barrier:
                members, parent = layout.barrier[number]
                top.d.comb += [switch.barrier_members.eq(members), switch.barrier_parent.eq(parent)]
        for cable in layout.cables:
            self._join(top, cable.unit, cable.port, cable.other_unit, cable.other_port)
            if (cable.unit, cable.port) != (cable.other_unit, cable.other_port):
                self._join(top, cable.other_unit, cable.other_port, cable.unit, cable.port)
        self._slot = 0
        self._quiet = 0
        self._context: Any = None  # of the bench, once it runs
        self._simulator = Simulator(top)
        self._simulator.add_clock(1e-3 / layout.nic.slot_khz)
        self._quarter = 0.25e-3 / layout.nic.slot_khz
        self._begun = False

    def _ends(self, unit: int, port: int) -> tuple[Any, Any]:
        """(sending, receiving) end of a unit's port."""
        if unit < self.layout.nics:
            nic = self._hosts[unit].nic
            return nic.link_tx, nic.link_rx
        switch = self._switches[unit - self.layout.nics]
        return switch.tx[port], switch.rx[port]

    def _join(self, top: Module, unit: int, port: int, other: int, other_port: int) -> None:
        line = CableLine(self.layout.latency)
        top.submodules[f"cable_{unit}_{port}"] = line
        wiring.connect(top, self._ends(unit, port)[0], line.i)
        wiring.connect(top, line.o, self._ends(other, other_port)[1])

    async def _bench(self, context: Any) -> None:
        self._context = context
        while True:
            # A while into the slot, so that `run` can stop at its beginning and what is queued then
            # still counts for it.
            await context.delay(self._quarter)
            for host in self._hosts:
                host.slot(context, self._slot)
            busy = any(
                host.accesses or not context.get(host.nic.idle) or context.get(host.nic.wake_armed)
                for host in self._hosts
            )
            busy = busy or any(context.get(host.nic.link_tx.kind) != Kind.IDLE for host in self._hosts)
            busy = busy or any(not context.get(switch.idle) for switch in self._switches)
            self._quiet = 0 if busy else self._quiet + 1
            await context.tick()
            self._slot += 1

    def run(self, limit: int) -> tuple[bool, Sequence[Event]]:
        if not self._begun:  # an engine that never runs has no coroutine to leave behind
            self._simulator.add_testbench(self._bench, background=True)
            self._begun = True
        settled = self.layout.latency + STILL_SLOTS
        end = min(limit, self._slot + ENOUGH)
        while self._slot < end and not any(host.events for host in self._hosts):
            if self._quiet > settled and not any(host.accesses for host in self._hosts):
                self.cut_short = False
                return True, ()
            self._simulator.advance()
        events = [event for host in self._hosts for event in host.events]
        self.cut_short = not events and self._slot < limit
        for host in self._hosts:
            host.events = []
        while events and self._slot < events[0].slot:  # to the end of the slot in which they happened
            self._simulator.advance()
        return False, events

    def slot(self, unit: int) -> int:
        return self._slot

    def evaluated(self, unit: int) -> int:
        return self._slot

    def pio(self, nic: int, accesses: Sequence[Access]) -> None:
        self._hosts[nic].accesses.extend(accesses)

    def map_local(self, nic: int, page: int, address: int, writable: bool) -> None:
        self._hosts[nic].pages.map_local(page, address, writable)

    def map_remote(self, nic: int, page: int, pid: int, address: int, writable: bool) -> None:
        self._hosts[nic].pages.map_remote(page, pid, address, writable)

    def unmap(self, nic: int, page: int) -> None:
        self._hosts[nic].pages.unmap(page)

    def watch(self, nic: int, address: int, seen: int, tag: int) -> None:
        self._hosts[nic].watches.append((tag, address, seen))

    def unwatch(self, nic: int, tag: int) -> None:
        host = self._hosts[nic]
        host.watches = [watch for watch in host.watches if watch[0] != tag]

    def sram(self, nic: int, addresses: Sequence[int]) -> list[int]:
        if self._context is None:
            return [0] * len(addresses)
        rows = self._hosts[nic].sram.memory.data
        return [self._context.get(rows[address // 4 % len(rows.init)]) for address in addresses]

    def refused(self, nic: int) -> int:
        return self._hosts[nic].refused

    def close(self) -> None:
        for host in self._hosts:
            host.pages.close()


__all__ = ["NEVER", "PysimEngine"]
