"""Decodes which register an access names, and chooses what it reads."""

from itertools import groupby

from amaranth import Cat, Mux, Signal

from ..csr.declare import Access, Behavior
from ..machine import REGISTERS_SIZE
from .register_bank import ROW_BITS

ROWS, COLUMNS = REGISTERS_SIZE >> ROW_BITS, 1 << ROW_BITS >> 2


def may_read(register, by_host):
    """Has the side that makes the access the right to read `register`?"""
    rights = register.access
    return (by_host & bool(rights & Access.HR)) | (~by_host & bool(rights & Access.PR))


def by_row(readable):
    """The registers of each row, with what they read; the rows in order."""
    return groupby(readable, lambda pair: pair[0].offset >> ROW_BITS)


def column_of(register):
    return register.offset % (1 << ROW_BITS) >> 2


class RegisterReader:
    """Decodes the address in the slot of the access and keeps a bit for each row and each word of a
    row: the way from there to an operand of the processor is one of the longest.

    `row`, `column`: a bit for each row of the window and for each word of a row, in the slot after the
    access.
    """

    def __init__(self):
        self.row, self.column = Signal(ROWS), Signal(COLUMNS)
        self._read_row = Signal(ROWS)  # 0 if the access reads nothing

    def look(self, addr, reads):
        """Give the statements for the slot of an access to `addr`, which reads if `reads`."""
        row = 1 << addr[ROW_BITS:]
        yield self.row.eq(row)
        yield self.column.eq(1 << addr[2:ROW_BITS])
        yield self._read_row.eq(row & reads.replicate(ROWS))

    def choose(self, m, readable, by_host):
        """Return the word that the access reads, 0 without the right, and a bit: there is such a register."""
        rdata, known, chosen = Signal(32), [], []
        for row, registers in by_row(readable):
            values = []
            for register, value in registers:
                here = self.column[column_of(register)]
                named = Signal(name=f"names_{register.name.lower()}")
                m.d.comb += named.eq(here & may_read(register, by_host))
                values.append(_read_if(named, register, value))
                known.append(self.row[row] & here)
            chosen.append(_either(values) & self._read_row[row].replicate(32))
        m.d.comb += rdata.eq(_either(chosen))
        return rdata, Cat(known).any()


def _read_if(condition, register, value):
    """The register's `value`, or 0. Both forms are the same gates. Of a constant a simulator would
    keep each bit of the second one, in every slot."""
    return Mux(condition, value, 0) if register.behavior is Behavior.FIXED else value & condition.replicate(32)


def _either(values):
    """The one of `values` that is not 0."""
    while len(values) > 1:
        values = [values[n] | values[n + 1] if n + 1 < len(values) else values[n] for n in range(0, len(values), 2)]
    return values[0]
