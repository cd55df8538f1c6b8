"""The register file: `machine.REGISTERS` in gateware."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .hostbus import RegisterAccess
from .machine import REGISTERS, REGISTERS_SIZE, Access, Register, Sticky


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


def acts(register: Register) -> bool:
    """Whether a write to it is an event for somebody, rather than storage in the register file."""
    return register.kind in (Sticky.ACTION, Sticky.W1C)


class RegisterFile(wiring.Component):
    """Serves the processor (`cpu`) at once, the host (`host`) when the processor makes no access in that slot and `open`.

    For each register, by its name in lower case: a PLAIN one is stored here and gives its value out; others bring their value in. Those that act
    have an output `<name>_write` beside: for one slot, the register is written with `wdata`, `by_host` or by the processor. Rights are
    the table's. `unknown`, for one slot: the host named an offset where no register is.
    """

    def __init__(self):
        members = {}
        for register in REGISTERS:
            name = register.name.lower()
            members[name] = Out(32) if register.kind is Sticky.PLAIN else In(32)
            if acts(register):
                members[f"{name}_write"] = Out(1)
        super().__init__(
            {
                **members,
                "cpu": In(RegisterPort()),
                "host": In(RegisterAccess()),
                "open": In(1, init=1),
                "wdata": Out(32),
                "by_host": Out(1),
                "unknown": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        addr = Signal.like(self.host.addr)
        read = Signal()
        write = Signal()
        known = Signal()
        rdata = Signal(32)
        busy = self.cpu.read | self.cpu.write
        m.d.comb += [
            self.host.grant.eq(self.host.request & ~busy & self.open),
            self.by_host.eq(self.host.grant),
            self.cpu.rdata.eq(rdata),
            self.host.rdata.eq(rdata),
            self.unknown.eq(self.host.grant & ~known),
        ]
        with m.If(busy):
            m.d.comb += [addr.eq(self.cpu.addr), self.wdata.eq(self.cpu.wdata)]
            m.d.comb += [read.eq(self.cpu.read), write.eq(self.cpu.write)]
        with m.Else():
            m.d.comb += [addr.eq(self.host.addr), self.wdata.eq(self.host.wdata)]
            m.d.comb += [read.eq(self.host.grant & ~self.host.write), write.eq(self.host.grant & self.host.write)]
        with m.If(read):
            m.d.sync += rdata.eq(0)
        with m.Switch(addr[2:]):
            for register in REGISTERS:
                with m.Case(register.offset >> 2):
                    m.d.comb += known.eq(1)
                    self._serve(m, register, read, write, rdata)
        return m

    def _serve(self, m, register, read, write, rdata):
        value = getattr(self, register.name.lower())
        with m.If(read & self._may(register, Access.PR, Access.HR)):
            m.d.sync += rdata.eq(value)
        allowed = write & self._may(register, Access.PW, Access.HW)
        if acts(register):
            m.d.comb += getattr(self, f"{register.name.lower()}_write").eq(allowed)
        elif register.kind is Sticky.PLAIN:
            with m.If(allowed):
                m.d.sync += value.eq(self.wdata)

    def _may(self, register, processor, host):
        return (self.by_host & bool(register.access & host)) | (~self.by_host & bool(register.access & processor))
