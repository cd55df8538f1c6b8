"""The register file: the registers of all blocks in gateware."""

from itertools import groupby

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..csr.declare import Access, Behavior, Register
from ..csr.machine import Machine
from ..host_bus.csr import HOST_BUS
from ..host_bus.target import RegisterAccess
from ..machine import MACHINE, REGISTERS_SIZE
from .csr import CONTROL

ROW_BITS = 6  # bytes of a row of 16 registers


class RegisterPort(wiring.Signature):
    """The processor's port to the on-chip registers, seen from the processor.

    An access is made in a slot with `read` or `write`, at byte offset `addr`; `rdata` is valid in
    the next slot. It never waits.
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


class RegisterFile(NicBlock):
    """Serves the processor (`cpu`) at once, the host (`host`) when the processor makes no access in
    that slot and `open`.

    Accesses are pipelined: address and data are registered in slot n and decoded in slot n+1,
    because the processor's address is too late to decode in n. Reads return the value as of n.
    Write strobes appear in n+1; blocks forward them, so that software sees the effect as of n.
    Rights are the declaration's.

    A STORAGE register is stored here. Its value shows what was written from n+2 on, or from n+1 on
    if it is `forwarded`. The value of any other register comes from its block.

    Parameters
    ----------
    machine : whose registers these are

    Members
    -------
    <name> : ``In(32)`` or, of a STORAGE register, ``Out(32)``; see `value`
    <name>_write, <name>_host_write : ``Out(1)``, only of registers on which a write acts; see
    `written`, `written_by_host`
    wdata : ``Out(32)``, what was written, with the strobes
    cpu, host : the accesses
    open : ``In(1)``, the host may have accesses
    unknown : ``Out(1)``, in slot n+1: the host's access was at an offset where no register is
    idle : ``Out(1)``, no access waits to be decoded
    """

    def __init__(self, machine: Machine = MACHINE):
        self.machine = machine
        self._counters = {counter.name for counter in machine.counters}
        members = {}
        for register in machine.registers:
            members[_value(register)] = Out(32) if register.behavior is Behavior.STORAGE else In(32)
            if register.behavior.acts and register.access & Access.PW:
                members[_strobe(register)] = Out(1)
            if register.behavior.acts and register.access & Access.HW:
                members[_host_strobe(register)] = Out(1)
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

    def value(self, register: Register):
        """The register's value: from here if it is STORAGE, else for its block to drive."""
        return getattr(self, _value(register))

    def written(self, register: Register):
        """High for one slot: the processor wrote `wdata` to `register` in the slot before."""
        return getattr(self, _strobe(register))

    def written_by_host(self, register: Register):
        """High for one slot: the host wrote `wdata` to `register` in the slot before."""
        return getattr(self, _host_strobe(register))

    def raises(self):
        yield Raises(CONTROL.events.BUS_ERROR, self.unknown, delayed=True)

    def counts(self):
        yield Counts(HOST_BUS.counters.PIO_FAULTS, self.unknown, delayed=True)

    def elaborate(self, platform):
        m = Module()
        busy = self.cpu.read | self.cpu.write
        m.d.comb += self.host.grant.eq(self.host.request & ~busy & self.open)
        self._host_strobes(m)

        # The access of the slot before: the pipeline register.
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
        self._kept = {}  # of forwarded registers
        for register in self.machine.registers:
            if register.forwarded:
                self._kept[register.name] = kept = Signal(32, name=_value(register))
                m.d.comb += self.value(register).eq(kept)
        m.d.comb += [self.cpu.rdata.eq(rdata), self.host.rdata.eq(rdata), self.idle.eq(~read & ~write)]
        values, known = self._values(m), Signal()
        m.d.comb += self.unknown.eq((read | write) & by_host & ~known)
        # Two short multiplexers are faster than one long one.
        with m.Switch(addr[ROW_BITS:]):
            for row, registers in groupby(self.machine.registers, lambda register: register.offset >> ROW_BITS):
                with m.Case(row), m.Switch(addr[2:ROW_BITS]):
                    for register in registers:
                        with m.Case(register.offset % (1 << ROW_BITS) >> 2):
                            m.d.comb += known.eq(1)
                            self._serve(m, register, values[register.name], by_host, read, write, rdata)
        return m

    def _host_strobes(self, m):
        """The host's address is stable while it waits, so it is decoded before its access: a reset
        is timing-critical."""
        written = Signal()
        m.d.sync += written.eq(self.host.grant & self.host.write)
        for register in self.machine.registers:
            if register.behavior.acts and register.access & Access.HW:
                named = Signal(name=f"host_names_{register.name.lower()}")
                m.d.sync += named.eq(self.host.addr[2:] == register.offset >> 2)
                m.d.comb += self.written_by_host(register).eq(written & named)

    def _serve(self, m, register, value, by_host, read, write, rdata):
        access = register.access
        with m.If(read & self._may(access, by_host, Access.PR, Access.HR)):
            m.d.comb += rdata.eq(value)
        if register.behavior.acts:
            if access & Access.PW:
                m.d.comb += self.written(register).eq(write & ~by_host)
        elif register.behavior is Behavior.STORAGE:
            with m.If(write & self._may(access, by_host, Access.PW, Access.HW)):
                m.d.sync += self._stored(register).eq(self.wdata)
                if register.forwarded:
                    m.d.comb += self.value(register).eq(self.wdata)

    def _stored(self, register):
        """Where a STORAGE register's value is kept: its output, or behind it if that is
        forwarded."""
        return self._kept[register.name] if register.forwarded else self.value(register)

    def _values(self, m):
        """The value of each register in the slot before."""
        values = {}
        for register in self.machine.registers:
            value = self.value(register)
            if register.behavior is Behavior.STORAGE:
                value = self._stored(register)
            elif register.behavior is not Behavior.FIXED and register.name not in self._counters:
                seen = Signal(32, name=f"{register.name.lower()}_seen")
                m.d.sync += seen.eq(value)
                value = seen
            values[register.name] = value
        return values

    def _may(self, access, by_host, processor, host):
        return (by_host & bool(access & host)) | (~by_host & bool(access & processor))


def _value(register):
    return register.name.lower()


def _strobe(register):
    return f"{register.name.lower()}_write"


def _host_strobe(register):
    return f"{register.name.lower()}_host_write"
