"""The registers of one block in gateware, and the timing of register accesses."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..csr.declare import Access, Behavior, Register, RegisterBlock
from ..machine import REGISTERS_SIZE

ROW_BITS = 6  # bytes of a row of 16 registers


class BankAccess(wiring.Signature):
    """An access of slot n, shown in slot n+1; seen from the register file, which all banks follow.

    Members
    -------
    row, column : where the register is in the window, a bit for each row of 16 words and for each
        word of a row
    wdata : the value that is written
    cpu_write, host_write : the access is a write of the processor, of the host
    host_addr : address of the host's access in slot n; it is stable while the access waits
    """

    def __init__(self):
        super().__init__(
            {
                "row": Out(REGISTERS_SIZE >> ROW_BITS),
                "column": Out(1 << ROW_BITS >> 2),
                "wdata": Out(32),
                "cpu_write": Out(1),
                "host_write": Out(1),
                "host_addr": Out(range(REGISTERS_SIZE)),
            }
        )


class RegisterBank(wiring.Component):
    """Keeps the registers of one block, signals writes to the block, and aligns both to the slot of
    the access.

    The timing rule of every register: an access of slot n is decoded in slot n+1, because the
    processor's address is too late to decode in n. A read returns the value as of n. A write takes
    effect in n+2, the second slot after the access, except

    - of a `forwarded` register, and of one with bits that a side sets (`set_by`): in n+1;
    - of a register on which a write acts: its strobe (`written`, `written_by_host`) is high in n+1,
      for one slot, and what the block does combinationally with it is done in n+1.

    The processor makes an access at most every second slot, so each of its accesses sees what its
    last one did.

    Parameters
    ----------
    block : the declaration whose registers these are, counters included

    Members
    -------
    access : ``In(BankAccess())``
    <name> : ``In(32)``, or ``Out(32)`` of a register that the bank keeps; see `value`
    <name>_write, <name>_host_write : ``Out(1)``; see `written`, `written_by_host`
    <name>_clear : ``In(1)``, of `cleared` registers; see `clear`
    <name>_read : ``Out(32)``; see `read`
    """

    def __init__(self, block: RegisterBlock):
        self.block = block
        self._counters = {counter.name for counter in block.counters}
        members = {"access": In(BankAccess())}
        for register in block.all_registers:
            name = register.name.lower()
            members[name] = Out(32) if register.kept else In(32)
            members[f"{name}_read"] = Out(32)
            if register.behavior.acts and register.access & Access.PW:
                members[f"{name}_write"] = Out(1)
            if register.behavior.acts and register.access & Access.HW:
                members[f"{name}_host_write"] = Out(1)
            if register.cleared:
                members[f"{name}_clear"] = In(1)
        super().__init__(members)

    def value(self, register: Register):
        """The register's value: from here if the bank keeps it, else for the block to drive."""
        return getattr(self, register.name.lower())

    def clear(self, register: Register):
        """For the block to drive: what is stored is 0 from the next slot on, unless it is being
        written."""
        return getattr(self, f"{register.name.lower()}_clear")

    def read(self, register: Register):
        """The value that a read of slot n returns, in n+1."""
        return getattr(self, f"{register.name.lower()}_read")

    def written(self, register: Register):
        """High in n+1: the processor wrote the access's `wdata` to `register`, on which a write acts."""
        return getattr(self, f"{register.name.lower()}_write")

    def written_by_host(self, register: Register):
        """High in n+1: the host wrote the access's `wdata` to `register`, on which a write acts."""
        return getattr(self, f"{register.name.lower()}_host_write")

    def elaborate(self, platform):
        m = Module()
        for register in self.block.all_registers:
            if register.behavior.acts:
                self._strobe(m, register)
            if register.set_by is not None:
                self._set_and_clear(m, register)
            elif register.behavior.stores:
                self._store(m, register)
            else:
                self._show(m, register)
        return m

    def _strobe(self, m, register):
        access = self.access
        if register.access & Access.PW:
            m.d.comb += self.written(register).eq(access.cpu_write & self._addressed(register))
        if register.access & Access.HW:
            # The host's address is decoded before its access: a reset is timing-critical.
            addressed = Signal(name=f"host_names_{register.name.lower()}")
            m.d.sync += addressed.eq(access.host_addr[2:] == register.offset >> 2)
            m.d.comb += self.written_by_host(register).eq(access.host_write & addressed)

    def _set_and_clear(self, m, register):
        """One side's writes set bits, the other's clear them; never both in a slot."""
        strobes = self.written(register), self.written_by_host(register)
        sets, clears = strobes if register.set_by is Access.PW else reversed(strobes)
        held, wdata = Signal(32, name=f"{register.name.lower()}_held"), self.access.wdata
        value = (held & ~(wdata & clears.replicate(32))) | (wdata & sets.replicate(32))
        m.d.comb += [self.value(register).eq(value), self.read(register).eq(held)]
        m.d.sync += held.eq(self.value(register))

    def _store(self, m, register):
        access, value = self.access, self.value(register)
        stored, written = Signal(32, name=f"{register.name.lower()}_stored"), Signal()
        writes = {Access.PW: access.cpu_write, Access.HW: access.host_write}
        may = Cat(write for right, write in writes.items() if register.access & right).any()
        m.d.comb += written.eq(may & self._addressed(register))
        with m.If(written):
            m.d.sync += stored.eq(access.wdata)
        if register.cleared:
            with m.Elif(self.clear(register)):
                m.d.sync += stored.eq(0)
        m.d.comb += value.eq(Mux(written, access.wdata, stored) if register.forwarded else stored)
        m.d.comb += self.read(register).eq(self._seen(m, register) if register.cleared else stored)

    def _show(self, m, register):
        """The value that the block drives, as of the slot of the access."""
        at_once = register.behavior is Behavior.FIXED or register.name in self._counters
        m.d.comb += self.read(register).eq(self.value(register) if at_once else self._seen(m, register))

    def _seen(self, m, register):
        """The register's value in the slot before."""
        seen = Signal(32, name=f"{register.name.lower()}_seen")
        m.d.sync += seen.eq(self.value(register))
        return seen

    def _addressed(self, register):
        column = register.offset % (1 << ROW_BITS) >> 2
        return self.access.row[register.offset >> ROW_BITS] & self.access.column[column]
