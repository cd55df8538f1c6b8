"""Words with named fields, declared once for software and gateware. Without Amaranth, which takes a
third of a second to import: ranks and the simulator need the declarations as well.
`lanai_hdl.fields` makes layouts of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, ClassVar, NamedTuple, Self

WORD_BITS = 32


class Field(NamedTuple):
    """Bits of a word. `kind` is what they mean, if they are not a number."""

    first: int
    width: int
    kind: type[IntEnum] | None

    @property
    def most(self) -> int:
        return (1 << self.width) - 1


def width_of(kind: type[IntEnum]) -> int:
    """The bits that any of the members takes."""
    return max(kind).bit_length()


class Word:
    """A subclass annotates its fields with their widths, or with an IntEnum, from bit 0 on:

        class Place(Word):
            key: 16
            page: 16

    An object of it is a value, with the fields as attributes.
    """

    fields: ClassVar[Mapping[str, Field]] = {}

    def __init_subclass__(cls) -> None:
        first, fields = 0, {}
        for name, kind in cls.__annotations__.items():
            width = kind if isinstance(kind, int) else width_of(kind)
            fields[name] = Field(first, width, None if isinstance(kind, int) else kind)
            first += width
        if first != WORD_BITS:
            raise TypeError(f"the fields of {cls.__name__} have {first} bits in all; a word has {WORD_BITS}")
        cls.fields = fields

    @classmethod
    def of(cls, **values: int) -> int:
        """The word with these values; the other fields are 0. A value is cut to its field's bits."""
        result = 0
        for name, value in values.items():
            field = cls.fields[name]
            result |= (value & field.most) << field.first
        return result

    @classmethod
    def from_bits(cls, value: int) -> Self:
        """Return the fields of a word. Bits that no member of an enumeration has are a number."""
        result = cls()
        for name, field in cls.fields.items():
            part: int = value >> field.first & field.most
            known = field.kind is not None and part in {*field.kind}
            setattr(result, name, field.kind(part) if known and field.kind is not None else part)
        return result

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no field {name!r}; it has {', '.join(self.fields)}")


class Names(StrEnum):
    """Things that a field may name, which may not be its writer's."""

    ADDRESS = "address"
    HANDLE = "handle"
    INDEX = "index"
    PEER = "peer"
    LENGTH = "length"


@dataclass(frozen=True)
class Judge:
    """The judge of a field that a process, or another NIC, fills in as it likes.

    Attributes:
        names: what the field names.
        by: `module.function` of a firmware, `module.Component` of gateware; several if the field takes one of
            several ways, each with its judge. Without one `unjudged` says why.
        of: in which requests or packets, if not in all.
        times: how often it may name the same, if that matters.
    """

    names: Names
    by: tuple[str, ...]
    of: str = ""
    times: str = ""
    unjudged: str = ""


# All fields of each structure, or of words that have none. A string in their place: who else fills them in.
Judged = Mapping[type | str, str | Mapping[str, tuple[Judge, ...]]]
NOTHING: tuple[Judge, ...] = ()  # of a field that names nothing of others


def judged(names: Names, *by: str, of: str = "", times: str = "", unjudged: str = "") -> tuple[Judge, ...]:
    """A field with one judge."""
    return (Judge(names, by, of, times, unjudged),)
