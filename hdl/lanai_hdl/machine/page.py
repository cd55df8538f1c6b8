"""The machine as a page of the reference, written from its declaration.

`python -m lanai_hdl.machine.page` prints it; docs/hdl_pages.py puts it on the page.
"""

from collections.abc import Iterable, Iterator
from enum import IntFlag
from inspect import cleandoc

from .. import machine
from . import MACHINE, REGISTERS, Access


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Give the lines of a table in Markdown, and an empty one."""
    titles = list(head)
    yield _row(*titles)
    yield _row(*["---"] * len(titles))
    for cells in rows:
        yield _row(*cells)
    yield ""


def rights(access: Access, reads: Access, writes: Access) -> str:
    """`RW`, `R`, `W` or a dash."""
    return ("R" if access & reads else "") + ("W" if access & writes else "") or "-"


def _registers() -> Iterator[str]:
    for block in MACHINE.blocks:
        yield f"## {block.title}"
        yield ""
        yield from table(
            ("offset", "register", "processor", "host", "kind", "what it is"),
            (
                (
                    f"`{r.offset:#05x}`",
                    f"`{r.name}`",
                    rights(r.access, Access.PR, Access.PW),
                    rights(r.access, Access.HR, Access.HW),
                    r.behavior.value + (", forwarded" if r.forwarded else ""),
                    r.doc + (f" Bits: {r.fields.__name__}." if r.fields else ""),
                )
                for r in sorted(block.all_registers, key=lambda register: register.offset)
            ),
        )


def _events() -> Iterator[str]:
    yield "## Events"
    yield ""
    yield from table(
        ("bit", "event", "kind", "what it says"),
        (
            (event.bit, f"`{event.name}`", "level" if event.level else "sticky", event.doc)
            for event in MACHINE.event_bits
        ),
    )


def _fields() -> Iterator[str]:
    kinds: dict[str, type[IntFlag]] = {r.fields.__name__: r.fields for r in REGISTERS if r.fields}
    for name, flags in kinds.items():
        users = [f"`{r.name}`" for r in REGISTERS if r.fields is flags]
        yield f"## Bits: {name}"
        yield ""
        yield cleandoc(flags.__doc__ or "") + f"\n\nUsed by {', '.join(users)}."
        yield ""
        yield ", ".join(f"`{flag.value:#x}` `{flag.name}`" for flag in flags.__members__.values())
        yield ""


def page() -> str:
    """Return what stands below the page's title, in Markdown."""
    memory = table(
        ("who", "from", "size", "what"),
        (
            ("processor, DMA", f"`{machine.SRAM_BASE:#x}`", "SRAM_SIZE", "SRAM; the processor starts at address 0"),
            (
                "processor",
                f"`{machine.REGISTERS_LOCAL:#x}`",
                f"`{machine.REGISTERS_SIZE:#x}`",
                "on-chip registers, before the SRAM beneath",
            ),
            ("host", f"`{machine.SRAM_HOST:#x}`", "SRAM_SIZE", "SRAM"),
            ("host", f"`{machine.REGISTERS_HOST:#x}`", f"`{machine.REGISTERS_SIZE:#x}`", "on-chip registers"),
        ),
    )
    lines = [
        cleandoc(machine.__doc__ or ""),
        "",
        "## Memory map",
        "",
        *memory,
        *_registers(),
        *_events(),
        *_fields(),
    ]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")
