"""The places of fields in two registers of the processor, `Ready` and `Issued`, as its gateware lays them out. A module
of its own, as it imports Amaranth, and a model from the cache needs none."""

from amaranth.lib import data

from lanai_hdl.core.core import Issued, Ready


def header() -> str:
    """C++ that declares the offset of each field in bits."""
    return "".join(
        f"constexpr unsigned {struct.__name__.upper()}_{name.upper()} = {offset};\n"
        for struct in (Ready, Issued)
        for name, offset in _fields(data.Layout.cast(struct), 0)
    )


def _fields(layout: data.Layout, base: int) -> list[tuple[str, int]]:
    """The names and offsets of all fields; of a field that is a structure, those of its fields."""
    found = []
    for name, field in layout:
        try:
            found += _fields(data.Layout.cast(field.shape), base + field.offset)
        except TypeError:  # no structure
            found.append((name, base + field.offset))
    return found
