"""Relocations of EM_LANAI objects: which bits of a big-endian word take the value S + A (RELA
only)."""

from dataclasses import dataclass
from enum import IntEnum

EM_LANAI = 244


class Relocation(IntEnum):
    """ELF numbers."""

    NONE = 0
    LANAI_21 = 1
    LANAI_21_F = 2
    LANAI_25 = 3
    LANAI_32 = 4
    LANAI_HI16 = 5
    LANAI_LO16 = 6


@dataclass(frozen=True)
class Patch:
    """`value` bits [source_low, source_low + width) land at bit `low` of the word."""

    low: int
    width: int
    source_low: int


@dataclass(frozen=True)
class Rule:
    """The way one kind is applied. `bits` bounds the value (unsigned); `aligned` must divide it."""

    patches: tuple[Patch, ...]
    bits: int
    aligned: int = 1


RULES: dict[Relocation, Rule] = {
    Relocation.NONE: Rule((), 32),
    Relocation.LANAI_21: Rule((Patch(18, 5, 16), Patch(0, 16, 0)), 21),
    Relocation.LANAI_21_F: Rule((Patch(18, 5, 16), Patch(0, 16, 0)), 21, aligned=4),
    Relocation.LANAI_25: Rule((Patch(2, 23, 2),), 25, aligned=4),
    Relocation.LANAI_32: Rule((Patch(0, 32, 0),), 32),
    Relocation.LANAI_HI16: Rule((Patch(0, 16, 16),), 32),  # paired with an OR of the low half: no carry to adjust
    Relocation.LANAI_LO16: Rule((Patch(0, 16, 0),), 32),
}


def relocate(kind: Relocation, word: int, value: int) -> int:
    """`word` with `value` (S + A) inserted; bits that the kind does not own are kept.

    Raises ValueError with the value and its bound when the value does not fit.
    """
    rule = RULES[kind]
    if not 0 <= value < 1 << rule.bits:
        raise ValueError(
            f"{kind.name}: value {value:#x} does not fit {rule.bits} bits; place it below {1 << rule.bits:#x}"
        )
    if value % rule.aligned:
        raise ValueError(f"{kind.name}: value {value:#x} is not a multiple of {rule.aligned}")
    for patch in rule.patches:
        mask = (1 << patch.width) - 1
        word = word & ~(mask << patch.low) | ((value >> patch.source_low) & mask) << patch.low
    return word
