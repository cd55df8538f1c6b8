"""The formats: where fields sit, and which field values are defined.

A word has the format whose `match` it carries under `mask`; formats do not overlap. It is a defined
instruction if every rule of that format holds, where a rule lists alternatives and an alternative
gives the values that some fields may take. Whatever the manual calls "don't care" is pinned to 0
here, so that one instruction has one encoding and stray bits trap.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .operations import Access, AluOp, Function, Special
from .registers import Reg


@dataclass(frozen=True)
class Slice:
    """Bits `high`..`low` of the word, both included."""

    high: int
    low: int

    @property
    def width(self) -> int:
        return self.high - self.low + 1


@dataclass(frozen=True)
class Field:
    """A named field. `slices` are given from the field's most significant bit down; they need not
    be in word order.

    The field's value has `scale` zero bits appended below the coded ones (branch targets are word
    addresses). `signed` fields are two's complement.
    """

    name: str
    slices: tuple[Slice, ...]
    doc: str
    signed: bool = False
    scale: int = 0

    @property
    def width(self) -> int:
        """Coded bits."""
        return sum(part.width for part in self.slices)

    @property
    def mask(self) -> int:
        """Return the bits of the word that the field has."""
        return sum(((1 << part.width) - 1) << part.low for part in self.slices)


Alternative = Mapping[str, frozenset[int]]
Rule = tuple[Alternative, ...]


@dataclass(frozen=True)
class Format:
    name: str
    match: int
    mask: int
    fields: tuple[Field, ...]
    doc: str
    rules: tuple[Rule, ...] = ()
    by_name: dict[str, Field] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {item.name: item for item in self.fields})
        covered = self.mask
        for item in self.fields:
            assert not covered & item.mask, f"{self.name}.{item.name} overlaps another field"
            covered |= item.mask
        assert covered == 0xFFFFFFFF, f"{self.name} leaves bits {~covered & 0xFFFFFFFF:#010x} unnamed"

    def defined(self, values: Mapping[str, int]) -> bool:
        """True if field values keep all rules."""
        return all(
            any(all(values[name] in allowed for name, allowed in alternative.items()) for alternative in rule)
            for rule in self.rules
        )


def _field(name: str, doc: str, *slices: tuple[int, int], signed: bool = False, scale: int = 0) -> Field:
    return Field(name, tuple(Slice(*part) for part in slices), doc, signed, scale)


def _allow(**allowed: Iterable[int] | int) -> Alternative:
    return {name: frozenset([v] if isinstance(v, int) else v) for name, v in allowed.items()}


RD = _field("rd", "destination; source of a store", (27, 23))
RS1 = _field("rs1", "first operand; base address", (22, 18))
RS2 = _field("rs2", "second operand", (15, 11))
FLAGS = _field("flags", "F: set the flags", (17, 17))
PRE = _field("pre", "P: the address is base op offset rather than the base", (17, 17))
UPDATE = _field("update", "Q: the base becomes base op offset", (16, 16))
STORE = _field("store", "S: store rather than load", (28, 28))
OP = _field("op", "BBB: operation", (10, 8))
SPECIAL_FIELD = _field("special", "JJJJJ: which shift, or select", (7, 3))
BRANCH_COND = _field("cond", "DDDI: condition", (27, 25), (0, 0))

_ORDINARY = range(AluOp.SHIFT)
_SHIFTS = (Special.LOGICAL, Special.ARITHMETIC)
# The base of an update is a data register: a transfer hidden in an address would be a third kind of
# one.
_BASE_RULE: Rule = (_allow(update=0), _allow(rs1=set(range(32)) - {Reg.PC}))

RI = Format(
    "RI", 0x00000000, 0x80000000,
    (
        _field("op", "AAA: operation", (30, 28)), RD, RS1, FLAGS,
        _field("high", "H: the constant is the upper half; of a shift: arithmetic", (16, 16)),
        _field("imm", "constant; the other half is 0, with `and` 0xFFFF; of a shift: signed amount", (15, 0)),
    ),
    "Rd = Rs1 op constant",
)  # fmt: skip
RM = Format(
    "RM", 0x80000000, 0xE0000000,
    (STORE, RD, RS1, PRE, UPDATE, _field("imm", "offset", (15, 0), signed=True)),
    "load or store a word at base + offset",
    (_BASE_RULE,),
)  # fmt: skip
RRM = Format(
    "RRM", 0xA0000000, 0xE0000000,
    (STORE, RD, RS1, PRE, UPDATE, RS2, OP, SPECIAL_FIELD, _field("access", "YLE: size and extension", (2, 0))),
    "load or store a word, half or byte at base op offset register",
    (
        _BASE_RULE,
        (_allow(op=_ORDINARY, special=Special.PLAIN), _allow(op=AluOp.SHIFT, special=_SHIFTS, access=Access.WORD)),
        (_allow(store=0, access=Access), _allow(access=(Access.HALF, Access.WORD, Access.BYTE))),
    ),
)  # fmt: skip
RR = Format(
    "RR", 0xC0000000, 0xF0000000,
    (RD, RS1, FLAGS, _field("cond", "DDDI: condition", (2, 0), (16, 16)), RS2, OP, SPECIAL_FIELD),
    "Rd = Rs1 op Rs2 if the condition holds; select: Rd = condition ? Rs1 : Rs2",
    ((
        _allow(op=_ORDINARY, special=Special.PLAIN),
        _allow(op=AluOp.SHIFT, special=_SHIFTS),
        _allow(op=AluOp.SHIFT, special=Special.PLAIN, flags=0),
    ),),
)  # fmt: skip
SPECIAL = Format(
    "SPECIAL", 0xD0000000, 0xF003FFF8,
    (RD, RS1, _field("function", "which one", (2, 0))),
    "Rd = a bit count of Rs1",
    ((_allow(function=Function),),),
)  # fmt: skip
BR = Format(
    "BR", 0xE0000000, 0xF0000002,
    (BRANCH_COND, _field("target", "absolute byte address", (24, 2), scale=2)),
    "pc = target if the condition holds",
)  # fmt: skip
SCC = Format(
    "SCC", 0xE0000002, 0xF183FFFE,
    (BRANCH_COND, _field("rd", "destination", (22, 18))),
    "Rd = 1 if the condition holds, else 0",
)  # fmt: skip
BRR = Format(
    "BRR", 0xE1000002, 0xF1830002,
    (BRANCH_COND, RS1, _field("offset", "byte offset", (15, 2), signed=True, scale=2)),
    "pc = Rs1 + offset if the condition holds",
)  # fmt: skip
SLS = Format(
    "SLS", 0xF0000000, 0xF0020000,
    (RD, _field("store", "S: store rather than load", (16, 16)), _field("address", (
        "absolute byte address; "
        "bits 1:0 are ignored"
    ), (22, 18), (15, 0))),
    "load or store a word at an absolute address",
)  # fmt: skip
SLI = Format(
    "SLI", 0xF0020000, 0xF0030000,
    (RD, _field("imm", "constant", (22, 18), (15, 0))),
    "Rd = constant",
)  # fmt: skip
SPLS = Format(
    "SPLS", 0xF0030000, 0xF0038000,
    (
        RD, RS1,
        _field("byte", "Y: byte rather than half", (14, 14)),
        _field("store", "S: store rather than load", (13, 13)),
        _field("zero", "E: zero-extend a load", (12, 12)),
        _field("pre", "P: as in RM", (11, 11)),
        _field("update", "Q: as in RM", (10, 10)),
        _field("imm", "offset", (9, 0), signed=True),
    ),
    "load or store a half or byte at base + offset",
    (_BASE_RULE, (_allow(store=0), _allow(zero=0))),
)  # fmt: skip

FORMATS: tuple[Format, ...] = (RI, RM, RRM, RR, SPECIAL, BR, SCC, BRR, SLS, SLI, SPLS)
BY_NAME: dict[str, Format] = {item.name: item for item in FORMATS}
