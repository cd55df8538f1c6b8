"""The places of fields in two registers of the processor, `Ready` and `Issued`, as its gateware lays them out. A module
of its own, as it imports Amaranth, and a model from the cache needs none."""

from amaranth import Shape
from amaranth.lib import data

from lanai_hdl.core.core import Issued, Ready


def fields(structure: str) -> list[tuple[str, int, int]]:
    """Return the name, offset and width of each field, those of structures inside too."""
    return _fields(data.Layout.cast({"READY": Ready, "ISSUED": Issued}[structure]), 0)


def _fields(layout: data.Layout, base: int) -> list[tuple[str, int, int]]:
    found = []
    for name, field in layout:
        try:
            found += _fields(data.Layout.cast(field.shape), base + field.offset)
        except TypeError:  # no structure
            found.append((str(name).upper(), base + field.offset, Shape.cast(field.shape).width))
    return found
