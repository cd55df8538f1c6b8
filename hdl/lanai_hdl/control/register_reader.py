"""Decodes which register an access names, and chooses what it reads."""

from amaranth import Cat, Mux, Signal

from ..csr.declare import Behavior
from ..machine import REGISTERS_SIZE
from .register_bank import ROW_BITS

ROWS, COLUMNS = REGISTERS_SIZE >> ROW_BITS, 1 << ROW_BITS >> 2


class RegisterReader:
    """Decodes the address in the slot of the access and keeps a bit for each register that may be read: the way from
    there to an operand of the processor is one of the longest.

    Parameters: `registers`, in the order in which `choose` gets their values.

    `row`, `column`: a bit for each row of the window and for each word of a row, in the slot after the
    access.
    """

    def __init__(self, registers):
        self.row, self.column = Signal(ROWS), Signal(COLUMNS)
        self._registers = registers
        self._reads = [Signal(name=f"reads_{register.name.lower()}") for register in registers]

    def look(self, addr, sides):
        """Give the statements for the slot of an access to `addr`. `sides`: the address of each side, whether it
        reads there, which is known late, and its right to read."""
        yield self.row.eq(1 << addr[ROW_BITS:])
        yield self.column.eq(1 << addr[2:ROW_BITS])
        found = [(1 << side[ROW_BITS:], 1 << side[2:ROW_BITS], reads, right) for side, reads, right in sides]
        for register, bit in zip(self._registers, self._reads, strict=True):
            row, column = _place(register)
            yield bit.eq(
                Cat(
                    rows[row] & columns[column] & reads
                    for rows, columns, reads, right in found
                    if register.access & right
                ).any()
            )

    def choose(self, values):
        """Return the word that the access reads, 0 without the right, and a bit: there is such a register."""
        read, known = [], []
        for register, bit, value in zip(self._registers, self._reads, values, strict=True):
            row, column = _place(register)
            read.append(_read_if(bit, register, value))
            known.append(self.row[row] & self.column[column])
        return _either(read), Cat(known).any()


def _place(register):
    """Its row, and its word in that."""
    return register.offset >> ROW_BITS, register.offset % (1 << ROW_BITS) >> 2


def _read_if(condition, register, value):
    """The register's `value`, or 0. Both forms are the same gates. Of a constant a simulator would
    keep each bit of the second one, in every slot."""
    return Mux(condition, value, 0) if register.behavior is Behavior.FIXED else value & condition.replicate(32)


def _either(values):
    """The one of `values` that is not 0."""
    while len(values) > 1:
        values = [values[n] | values[n + 1] if n + 1 < len(values) else values[n] for n in range(0, len(values), 2)]
    return values[0]
