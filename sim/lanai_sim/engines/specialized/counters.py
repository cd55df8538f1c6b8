"""Registers of a model that count, found in Verilator's C++: nothing but comparisons looks at them.

As long as such a register does not come to a value that it is compared with, all else stays as if it stood still.
So who knows that it counts in each slot can add to it instead of evaluating the slots.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

NEXT = "__024next"  # how Verilator spells Amaranth's name of a register's next value
CAST = re.compile(r"\((?:C|S|I|Q)Data\)")
ALONE = re.compile(r"\((vlSelfRef\.\w+)\)")
STEP = re.compile(
    rf"vlSelfRef\.(\w+){NEXT}=\((0x[0-9a-f]+)U&\(?(?:\(1U\)\+vlSelfRef\.\1|vlSelfRef\.\1(-)\(1U\)|vlSelfRef\.\1(-)1U)\)\);"
)
COMPARED = "==|!=|<=|>=|<|>"


@dataclass(frozen=True)
class Counter:
    """The register `name` counts up, or down, by 1. `limits`: C++ expressions of what it is compared with, in which the
    model is `vlSelfRef`."""

    name: str
    mask: int
    up: bool
    limits: tuple[str, ...]

    @property
    def next(self) -> str:
        """The member with the register's next value."""
        return self.name + NEXT


def found(texts: Iterable[str], kinds: Mapping[str, str]) -> list[Counter]:
    """Return the counters of a model that evaluates these texts. `kinds`: its scalar members."""
    text = ALONE.sub(r"\1", re.sub(r"\s+", "", CAST.sub("", "".join(texts))))
    steps: dict[str, set[tuple[int, bool]]] = {}
    for step in STEP.finditer(text):
        steps.setdefault(step[1], set()).add((int(step[2], 16), not (step[3] or step[4])))
    one_way = {name: next(iter(ways)) for name, ways in steps.items() if len(ways) == 1}
    counters = [
        Counter(name, mask, up, limits)
        for name, (mask, up) in sorted(one_way.items())
        if {name, name + NEXT} <= kinds.keys() and (limits := _limits(text, name)) is not None
    ]
    names = {counter.name for counter in counters}
    return [one for one in counters if not any(name in limit for limit in one.limits for name in names)]


def _limits(text: str, name: str) -> tuple[str, ...] | None:
    """Return what the register is compared with; None if anything else looks at it or at its next value."""
    this, after = rf"vlSelfRef\.{name}\b", rf"vlSelfRef\.{name}{NEXT}\b"
    operand = r"0x[0-9a-f]+U|\d+U|vlSelfRef\.\w+|\(0x[0-9a-f]+U&vlSelfRef\.\w+\)"
    limits = re.findall(rf"\(({operand})(?:{COMPARED}){this}\)", text)
    limits += re.findall(rf"\({this}(?:{COMPARED})({operand})\)", text)
    takes = len(re.findall(rf"\b{this}={after};", text))
    holds = len(re.findall(rf"\b{after}={this};", text))
    steps = sum(step[1] == name for step in STEP.finditer(text))
    sets = len(re.findall(rf"\b{after}=[^=]", text))
    if takes != 1 or len(re.findall(rf"\b{name}\b", text)) != takes + holds + steps + len(limits):
        return None
    return tuple(sorted(set(limits))) if len(re.findall(rf"\b{name}{NEXT}\b", text)) == takes + sets else None
