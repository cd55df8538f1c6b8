"""The register file: `machine.REGISTERS` in gateware."""

from itertools import groupby

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..csr.declare import Access, Behavior
from ..host_bus.target import RegisterAccess
from ..machine import COUNTERS, REGISTERS, REGISTERS_SIZE

ROW_BITS = 6  # bytes of a row of 16 registers


class RegisterPort(wiring.Signature):
    """The processor's door to the on-chip registers, seen from the processor.

    An access is made in a slot with `read` or `write`, at byte offset `addr`; `rdata` stands in the next slot. It never waits.
    """

    def __init__(self):
        super().__init__(
            {
                "addr": Out(range(REGISTERS_SIZE)),
                "read": Out(1),
                "write": Out(1),
                "wdata": Out(32),
                "rdata": In(32),
            }
        )


COUNTER_NAMES = {counter.name for counter in COUNTERS}


class RegisterFile(wiring.Component):
    """Serves the processor (`cpu`) at once, the host (`host`) when the processor makes no access in that slot and `open`.

    An access is noted in its slot and looked at in the next, for the processor computes its address in the very slot, and only then is it known
    whether the host may. Yet it reads what was there in its own slot, and who is written to is to behave as if it had been told at once.

    For each register, by its name in lower case: a STORAGE one is stored here and gives its value out, two slots after the access or, of those
    in AT_ONCE, one; others bring their value in, counters a slot late. Those that act have outputs beside: for one slot, and a slot late,
    `<name>_write` tells that the processor has written `wdata`, `<name>_host_write` that the host has. Rights are the table's. `unknown`,
    for one slot and a slot late: the host named an offset where no register is. `idle` while no access waits to be looked at.
    """

    AT_ONCE = ("HOST_IRQ_MASK", "RECV_WATERMARK", "RECV_POINTER")

    def __init__(self):
        members = {}
        for register in REGISTERS:
            name = register.name.lower()
            members[name] = Out(32) if register.behavior is Behavior.STORAGE else In(32)
            if register.behavior.acts and register.access & Access.PW:
                members[f"{name}_write"] = Out(1)
            if register.behavior.acts and register.access & Access.HW:
                members[f"{name}_host_write"] = Out(1)
        super().__init__(
            {
                **members,
                "cpu": In(RegisterPort()),
                "host": In(RegisterAccess()),
                "open": In(1, init=1),
                "wdata": Out(32),
                "unknown": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        busy = self.cpu.read | self.cpu.write
        m.d.comb += self.host.grant.eq(self.host.request & ~busy & self.open)
        self._tell_of_host(m)

        # The access of the slot before.
        addr, by_host = Signal.like(self.host.addr), Signal()
        read, write = Signal(), Signal()
        m.d.sync += [
            by_host.eq(~busy),
            addr.eq(Mux(busy, self.cpu.addr, self.host.addr)),
            self.wdata.eq(Mux(busy, self.cpu.wdata, self.host.wdata)),
            read.eq(self.cpu.read | (self.host.grant & ~self.host.write)),
            write.eq(self.cpu.write | (self.host.grant & self.host.write)),
        ]
        rdata = Signal(32)
        self._kept = {name: Signal(32, name=name.lower()) for name in self.AT_ONCE}
        for name, kept in self._kept.items():
            m.d.comb += getattr(self, name.lower()).eq(kept)
        m.d.comb += [self.cpu.rdata.eq(rdata), self.host.rdata.eq(rdata), self.idle.eq(~read & ~write)]
        values, known = self._values(m), Signal()
        m.d.comb += self.unknown.eq((read | write) & by_host & ~known)
        # Two short choices rather than one long.
        with m.Switch(addr[ROW_BITS:]):
            for row, registers in groupby(REGISTERS, lambda register: register.offset >> ROW_BITS):
                with m.Case(row), m.Switch(addr[2:ROW_BITS]):
                    for register in registers:
                        with m.Case(register.offset % (1 << ROW_BITS) >> 2):
                            m.d.comb += known.eq(1)
                            self._serve(m, register, values[register.name], by_host, read, write, rdata)
        return m

    def _tell_of_host(self, m):
        """The host's address stands still while it waits, so that in the slot after the access little is left to find out: all of the NIC waits to
        hear of a reset."""
        written = Signal()
        m.d.sync += written.eq(self.host.grant & self.host.write)
        for register in REGISTERS:
            if register.behavior.acts and register.access & Access.HW:
                named = Signal(name=f"host_names_{register.name.lower()}")
                m.d.sync += named.eq(self.host.addr[2:] == register.offset >> 2)
                m.d.comb += getattr(self, f"{register.name.lower()}_host_write").eq(written & named)

    def _serve(self, m, register, value, by_host, read, write, rdata):
        name, access = register.name.lower(), register.access
        with m.If(read & self._may(access, by_host, Access.PR, Access.HR)):
            m.d.comb += rdata.eq(value)
        if register.behavior.acts:
            if access & Access.PW:
                m.d.comb += getattr(self, f"{name}_write").eq(write & ~by_host)
        elif register.behavior is Behavior.STORAGE:
            with m.If(write & self._may(access, by_host, Access.PW, Access.HW)):
                m.d.sync += self._stored(register).eq(self.wdata)
                if register.name in self.AT_ONCE:
                    m.d.comb += getattr(self, name).eq(self.wdata)

    def _stored(self, register):
        """Where a STORAGE register's value is kept: its output itself, or behind it if that shows a write earlier."""
        value = getattr(self, register.name.lower())
        return self._kept[register.name] if register.name in self.AT_ONCE else value

    def _values(self, m):
        """What stood in each register in the slot before."""
        values = {}
        for register in REGISTERS:
            value = getattr(self, register.name.lower())
            if register.behavior is Behavior.STORAGE:
                value = self._stored(register)
            elif register.behavior is not Behavior.FIXED and register.name not in COUNTER_NAMES:
                seen = Signal(32, name=f"{register.name.lower()}_seen")
                m.d.sync += seen.eq(value)
                value = seen
            values[register.name] = value
        return values

    def _may(self, access, by_host, processor, host):
        return (by_host & bool(access & host)) | (~by_host & bool(access & processor))
