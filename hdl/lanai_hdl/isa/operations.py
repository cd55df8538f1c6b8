"""Values of the fields of an instruction."""

from enum import IntEnum


class AluOp(IntEnum):
    """Field `op` (AAA, BBB).

    With F set an operation leaves Z (result is 0) and N (bit 31 of it), and
    * add, addc, sub, subb: C = carry out, V = signed overflow, of a + b + cin, where b is inverted
      for the last two and cin is 0, C, 1, C (so after a subtraction C means "no borrow");
    * and, or, xor: V = 0; C = 0 in RI, C kept in RR;
    * shifts: V = 0; C = last bit shifted out on the left, 0 for right shifts and for an amount of
      0.
    """

    ADD = 0
    ADDC = 1
    SUB = 2
    SUBB = 3
    AND = 4
    OR = 5
    XOR = 6
    SHIFT = 7  # in RR and RRM the field `special` says which

    @property
    def arithmetic(self) -> bool:
        return self < AluOp.AND


class Special(IntEnum):
    """Field `special` (JJJJJ) of RR and RRM when `op` is SHIFT; otherwise it is PLAIN.

    Shift amounts are signed: bit 31 clear shifts left, set shifts right; the distance is the low
    five bits of the absolute value. ARITHMETIC keeps the sign when it shifts right; left it is
    LOGICAL.
    """

    PLAIN = 0b00000  # with SHIFT in RR: select, Rd = condition ? Rs1 : Rs2
    LOGICAL = 0b10000
    ARITHMETIC = 0b11000


class Access(IntEnum):
    """Field `access` (YLE) of RRM: size, and how a load fills the register. Stores use the signed
    names."""

    HALF = 0b000
    UHALF = 0b001
    WORD = 0b010
    BYTE = 0b100
    UBYTE = 0b101

    @property
    def size(self) -> int:
        """Bytes."""
        return {Access.WORD: 4, Access.HALF: 2, Access.UHALF: 2}.get(self, 1)

    @property
    def signed(self) -> bool:
        return self in (Access.HALF, Access.BYTE)


class Function(IntEnum):
    """Field `function` of SPECIAL. LEADZ and TRAILZ of 0 are 32."""

    POPC = 1
    LEADZ = 2
    TRAILZ = 3


class Condition(IntEnum):
    """Field `cond` (DDDI): a predicate in the upper three bits, inverted when bit 0 is set.

    In RR a false condition leaves Rd alone; if F is set, Z and N are then those of the unchanged
    Rd, C and V keep their values. Compiled code relies on it.
    """

    T = 0
    F = 1
    HI = 2
    LS = 3
    CC = 4
    CS = 5
    NE = 6
    EQ = 7
    VC = 8
    VS = 9
    PL = 10
    MI = 11
    GE = 12
    LT = 13
    GT = 14
    LE = 15

    @property
    def suffix(self) -> str:
        """The suffix as the assembler spells it."""
        unsigned = {Condition.HI: "ugt", Condition.LS: "ule", Condition.CC: "ult", Condition.CS: "uge"}
        return unsigned.get(self, self.name.lower())

    def holds(self, z: bool, n: bool, c: bool, v: bool) -> bool:
        predicate = (True, c and not z, not c, not z, not v, not n, n == v, n == v and not z)[self >> 1]
        return bool(predicate) != bool(self & 1)


# The eight predicates in words, by the field's upper three bits.
PREDICATES = ("always", "C and not Z", "not C", "not Z", "not V", "not N", "N = V", "N = V and not Z")
