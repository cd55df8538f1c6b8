"""The register file: the register banks of all blocks behind the ports of processor and host."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..csr.declare import Access, Register
from ..csr.machine import Machine
from ..host_bus.csr import HOST_BUS
from ..host_bus.target import RegisterAccess
from ..machine import MACHINE, REGISTERS_SIZE
from .csr import CONTROL
from .register_bank import RegisterBank
from .register_reader import RegisterReader


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

    The access of each slot goes to a register that all banks follow in the next slot. When a write
    takes effect, and which value a read returns, is the banks' rule (`RegisterBank`). Rights are
    the declaration's.

    Parameters
    ----------
    machine : whose registers these are

    Members
    -------
    wdata : ``Out(32)``, what was written, with the strobes of the banks
    cpu, host : the accesses
    open : ``In(1)``, the host may have accesses
    unknown : ``Out(1)``, in slot n+1: the host's access of slot n was at an offset where no
        register is
    idle : ``Out(1)``, no access waits to be decoded

    Attributes
    ----------
    banks : a `RegisterBank` for each block of `machine`
    """

    def __init__(self, machine: Machine = MACHINE):
        self.machine = machine
        self.banks = [RegisterBank(block) for block in machine.blocks]
        self._bank = {register.name: bank for bank in self.banks for register in bank.block.all_registers}
        super().__init__(
            {
                "cpu": In(RegisterPort()),
                "host": In(RegisterAccess()),
                "open": In(1, init=1),
                "wdata": Out(32),
                "unknown": Out(1),
                "idle": Out(1),
            }
        )

    def value(self, register: Register):
        """See `RegisterBank.value`; likewise for those below."""
        return self._bank[register.name].value(register)

    def clear(self, register: Register):
        return self._bank[register.name].clear(register)

    def written(self, register: Register):
        return self._bank[register.name].written(register)

    def written_by_host(self, register: Register):
        return self._bank[register.name].written_by_host(register)

    def raises(self):
        yield Raises(CONTROL.events.BUS_ERROR, self.unknown)

    def counts(self):
        yield Counts(HOST_BUS.counters.PIO_FAULTS, self.unknown)

    def elaborate(self, platform):
        m = Module()
        busy = self.cpu.read | self.cpu.write
        m.d.comb += self.host.grant.eq(self.host.request & ~busy & self.open)

        # The access of the slot before.
        names = ("by_host", "read", "cpu_write", "host_write")
        by_host, read, cpu_write, host_write = (Signal(name=name) for name in names)
        reader = RegisterReader(self.machine.registers)
        host_reads = self.host.grant & ~self.host.write
        sides = (self.cpu.addr, self.cpu.read, Access.PR), (self.host.addr, host_reads, Access.HR)
        m.d.sync += [
            by_host.eq(~busy),
            *reader.look(Mux(busy, self.cpu.addr, self.host.addr), sides),
            self.wdata.eq(Mux(busy, self.cpu.wdata, self.host.wdata)),
            read.eq(self.cpu.read | host_reads),
            cpu_write.eq(self.cpu.write),
            host_write.eq(self.host.grant & self.host.write),
        ]
        for bank in self.banks:
            m.submodules[bank.block.title.lower().replace(" ", "_")] = bank
            m.d.comb += [
                bank.access.row.eq(reader.row),
                bank.access.column.eq(reader.column),
                bank.access.wdata.eq(self.wdata),
                bank.access.cpu_write.eq(cpu_write),
                bank.access.host_write.eq(host_write),
                bank.access.host_addr.eq(self.host.addr),
            ]
        rdata, known = reader.choose([self._bank[register.name].read(register) for register in self.machine.registers])
        m.d.comb += [
            self.cpu.rdata.eq(rdata),
            self.host.rdata.eq(self.cpu.rdata),
            self.unknown.eq((host_write | (read & by_host)) & ~known),
            self.idle.eq(~(read | cpu_write | host_write)),
        ]
        return m
