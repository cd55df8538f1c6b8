"""The values that registers of a NIC often have together, by the names that they have in its gateware."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from lanai_hdl.config import NicConfig

from ..designs import Design
from .case import Case, Moment

PATH = Path(__file__).with_name("values.txt")
HEAD = (
    "# Cases: values that registers of a NIC often have together. [name moment], then registers and values,\n"
    "# those that differ most often first. Written by `lanai replay usual`.\n"
)


@cache
def known() -> tuple[Case, ...]:
    """All that are on record."""
    return parse(PATH.read_text())


def parse(text: str) -> tuple[Case, ...]:
    """Raises ValueError if the text is not as `written` gives it."""
    cases: list[tuple[str, Moment, dict[str, int]]] = []
    for line in text.splitlines():
        first, *rest = line.strip("[]").split()
        if line.startswith("["):
            cases.append((first, Moment(rest[0]), {}))
        elif not line.startswith("#"):
            cases[-1][2][first] = int(rest[0])
    return tuple(Case(*one) for one in cases)


def written(cases: Sequence[Case]) -> str:
    """The text that `parse` reads."""
    lines = [
        line
        for one in cases
        for line in (f"[{one.name} {one.moment}]", *(f"{name} {value}" for name, value in one.values.items()))
    ]
    return HEAD + "".join(f"{line}\n" for line in lines)


def of(design: Design) -> tuple[Case, ...]:
    """Return the cases that the model of this design is specialized for. A model of the gateware as
    it is synthesized stays as Verilator makes it."""
    if not isinstance(design.config, NicConfig) or design.as_synthesized:
        return ()
    return known()


def key(cases: Sequence[Case], together: Sequence[str] = ()) -> tuple[object, ...]:
    """Equal for two calls only if they specialize a model in the same way."""
    modules = ("case", "comparison", "core", "core_fields", "counters", "reads", "rewrite", "slot", "span", "waiting")
    code = (PATH.with_name(f"{module}.py").read_text() for module in modules)
    return (*(one.key for one in cases), *together, *code) if cases or together else ()
