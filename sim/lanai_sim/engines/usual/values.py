"""The registers of a NIC that usually have one value, by the names that they have in its gateware."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from lanai_hdl.config import NicConfig

from ..designs import Design
from . import rewrite, slot

PATH = Path(__file__).with_name("values.txt")
HEAD = (
    "# Registers of a NIC and their usual values, those that differ most often first.\n"
    "# Written by `lanai replay usual`.\n"
)


@cache
def known() -> Mapping[str, int]:
    """All that are on record."""
    return parse(PATH.read_text())


def parse(text: str) -> dict[str, int]:
    pairs = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: int(value) for name, value in pairs}


def written(values: Mapping[str, int]) -> str:
    """The text that `parse` reads."""
    return HEAD + "".join(f"{name} {value}\n" for name, value in values.items())


def of(design: Design) -> Mapping[str, int]:
    """Return the usual values that the model of this design is rewritten for. A model of the gateware as
    it is synthesized stays as Verilator makes it."""
    if not isinstance(design.config, NicConfig) or design.as_synthesized:
        return {}
    return known()


def key(usual: Mapping[str, int]) -> tuple[object, ...]:
    """Equal for two calls only if they rewrite a model in the same way."""
    return (*usual.items(), Path(rewrite.__file__).read_text(), Path(slot.__file__).read_text()) if usual else ()
