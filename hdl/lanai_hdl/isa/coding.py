"""Words to field values and back."""

from collections.abc import Mapping
from dataclasses import dataclass

from .formats import FORMATS, Field, Format


@dataclass(frozen=True)
class Decoded:
    """A defined instruction: its format and the value of each field."""

    format: Format
    values: Mapping[str, int]

    def __getitem__(self, name: str) -> int:
        return self.values[name]


def extract(item: Field, word: int) -> int:
    """The value of a field in `word`, scaled, negative if the field is signed and so coded."""
    value = 0
    for part in item.slices:
        value = value << part.width | word >> part.low & ((1 << part.width) - 1)
    if item.signed and value >> (item.width - 1):
        value -= 1 << item.width
    return value << item.scale


def insert(item: Field, value: int) -> int:
    """The bits of a word that give the field this value. ValueError if it has no coding."""
    low, high = (-(1 << item.width - 1), (1 << item.width - 1) - 1) if item.signed else (0, (1 << item.width) - 1)
    coded = value >> item.scale
    if not low <= coded <= high or coded << item.scale != value:
        step = f" in steps of {1 << item.scale}" if item.scale else ""
        raise ValueError(
            f"field {item.name} cannot hold {value}; it takes {low << item.scale}..{high << item.scale}{step}"
        )
    word = 0
    for part in reversed(item.slices):
        word |= (coded & ((1 << part.width) - 1)) << part.low
        coded >>= part.width
    return word


def format_of(word: int) -> Format | None:
    """The format whose fixed bits `word` carries, whether or not its rules hold."""
    for item in FORMATS:
        if word & item.mask == item.match:
            return item
    return None


def decode(word: int) -> Decoded | None:
    """The instruction in `word`; None if the encoding is undefined."""
    item = format_of(word)
    if item is None:
        return None
    values = {part.name: extract(part, word) for part in item.fields}
    return Decoded(item, values) if item.defined(values) else None


def encode(item: Format, **values: int) -> int:
    """The word of an instruction. Fields not named are 0.

    ValueError for an unknown field, a value that does not fit, or a combination that is undefined.
    """
    unknown = values.keys() - item.by_name.keys()
    if unknown:
        raise ValueError(f"{item.name} has no field {sorted(unknown)[0]!r}; it has {', '.join(item.by_name)}")
    full = {name: values.get(name, 0) for name in item.by_name}
    word = item.match
    for name, value in full.items():
        word |= insert(item.by_name[name], value)
    if not item.defined(full):
        raise ValueError(f"{item.name} is undefined for {full}; see its rules in lanai_hdl.isa.formats")
    return word
