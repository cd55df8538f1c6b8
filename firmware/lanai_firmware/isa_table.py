"""The instruction set as a page of the reference, written from the declaration.

`python -m lanai_firmware.isa_table` prints it; docs/hdl_pages.py puts it on the page.
"""

from collections.abc import Iterator
from enum import IntEnum
from inspect import cleandoc

from lanai_hdl import isa
from lanai_hdl.isa import FORMATS, Access, AluOp, Condition, Field, Format, Function, Special
from lanai_hdl.isa.formats import Rule
from lanai_hdl.isa.operations import PREDICATES
from lanai_hdl.isa.registers import NAMES, role
from lanai_hdl.isa.relocations import EM_LANAI, RULES
from lanai_hdl.isa.traps import CAUSES
from lanai_hdl.machine.page import table

ENUMS: dict[str, type[IntEnum]] = {
    "op": AluOp,
    "special": Special,
    "access": Access,
    "function": Function,
    "cond": Condition,
}


def _bits(item: Field) -> str:
    return " ".join(f"{part.high}:{part.low}" if part.width > 1 else str(part.high) for part in item.slices)


def pattern(item: Format) -> str:
    """The word from bit 31 down: fixed bits, and runs of field bits as `name:width`."""
    owner: list[str] = []
    for bit in range(31, -1, -1):
        fixed = str(item.match >> bit & 1) if item.mask >> bit & 1 else ""
        owner.append(fixed or next(f.name for f in item.fields if f.mask >> bit & 1))
    parts: list[str] = []
    count = 0
    for position, name in enumerate(owner):
        count += 1
        if position + 1 == 32 or owner[position + 1] != name or name in "01":
            parts.append(name if name in "01" or count == 1 else f"{name}:{count}")
            count = 0
    return " ".join(parts)


def _value(name: str, value: int) -> str:
    enum = ENUMS.get(name)
    return f"{enum(value).name.lower()}" if enum and value in list(enum) else str(value)


def _allowed(item: Format, name: str, values: frozenset[int]) -> str:
    others = set(range(1 << item.by_name[name].width)) - values
    if len(others) < len(values):
        return f"`{name}` not {', '.join(_value(name, v) for v in sorted(others))}"
    return f"`{name}` {' or '.join(_value(name, v) for v in sorted(values))}"


def rule_text(item: Format, rule: Rule) -> str:
    """A rule in words."""
    alternatives = (
        " with ".join(_allowed(item, name, values) for name, values in alternative.items()) for alternative in rule
    )
    return "; or ".join(alternatives)


def _format(item: Format) -> Iterator[str]:
    yield f"### {item.name}"
    yield ""
    yield item.doc[0].upper() + item.doc[1:] + "."
    yield ""
    yield f"`{pattern(item)}`"
    yield ""
    yield from table(
        ("field", "bits", "meaning"),
        (
            (
                f"`{f.name}`",
                _bits(f),
                f.doc + (", signed" if f.signed else "") + (f", in units of {1 << f.scale}" if f.scale else ""),
            )
            for f in item.fields
        ),
    )
    if item.rules:
        yield "Defined only with:"
        yield ""
        yield from (f"- {rule_text(item, rule)}" for rule in item.rules)
        yield ""


def _enum(title: str, enum: type[IntEnum]) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    yield cleandoc(enum.__doc__ or "")
    yield ""
    yield from table(("value", "name"), ((f"{value:d}", value.name.lower()) for value in enum))


def _conditions() -> Iterator[str]:
    yield "### Conditions"
    yield ""
    yield cleandoc(Condition.__doc__ or "")
    yield ""
    yield from table(
        ("value", "name", "suffix", "holds when"),
        (
            (int(c), c.name.lower(), f"`{c.suffix}`", f"not ({PREDICATES[c >> 1]})" if c & 1 else PREDICATES[c >> 1])
            for c in Condition
        ),
    )


def _traps() -> Iterator[str]:
    yield "## Traps"
    yield ""
    yield from table(("TRAP_CAUSE", "name", "meaning"), ((int(c), c.name, text) for c, text in CAUSES.items()))
    yield "When several apply, the first is reported. The instruction has no effect, and nothing runs after it."
    yield ""


def _relocations() -> Iterator[str]:
    yield "## Relocations"
    yield ""
    yield f"RELA records of ELF machine {EM_LANAI}; the value is symbol plus addend."
    yield ""
    yield from table(
        ("number", "name", "value bits to word bits", "value below", "multiple of"),
        (
            (
                int(kind),
                kind.name,
                ", ".join(
                    f"{p.source_low + p.width - 1}:{p.source_low} to {p.low + p.width - 1}:{p.low}"
                    for p in rule.patches
                )
                or "none",
                f"2^{rule.bits}",
                rule.aligned,
            )
            for kind, rule in RULES.items()
        ),
    )


def lines() -> Iterator[str]:
    """Give the lines below the page's title."""
    yield cleandoc(isa.__doc__ or "").split("## Rules that no field shows")[1].strip()
    yield ""
    yield "## Registers"
    yield ""
    yield from table(("number", "name", "use"), ((n, f"`%{name}`", role(n)) for n, name in enumerate(NAMES)))
    yield "## Formats"
    yield ""
    for item in FORMATS:
        yield from _format(item)
    yield "## Field values"
    yield ""
    yield from _enum("Operations", AluOp)
    yield from _enum("Shifts", Special)
    yield from _enum("Access sizes", Access)
    yield from _enum("Bit counts", Function)
    yield from _conditions()
    yield from _traps()
    yield from _relocations()


if __name__ == "__main__":
    print("\n".join(lines()).rstrip())
