"""Cases: fields of registers that often have certain values together, as while a part of the NIC does nothing.

A step for a case takes its values for constants, so that LLVM leaves out what they decide. One comparison of the state
before each step chooses it, or the step for any state: a value that is not held any more costs speed and nothing else.
`cases.txt` has the cases, which `lanai dev replay usual` chooses from recorded inputs (`choose`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanai_hdl.config import NicConfig

from .netlist import Netlist

PATH = Path(__file__).with_name("cases.txt")
TOP = "lanai_nic."
LEAST = 0.8  # of a case's fields must a model have


@dataclass(frozen=True)
class Case:
    """`values` of fields, by name. `blocks` are the optional blocks of the NICs that it is for, joined by +."""

    name: str
    blocks: str
    values: Mapping[str, int]


def text() -> str:
    return PATH.read_text()


def known(netlist: Netlist, config: object) -> list[dict[str, int]]:
    """Return the fields and their values of each case for a NIC; none for what is no NIC."""
    if not isinstance(config, NicConfig):
        return []
    widths = {one.name: one.width for one in netlist.fields}
    blocks = blocks_of(config)
    every = list(read(text()))
    having = {case.blocks for case in every}
    found = []
    for case in every:
        if case.blocks == (blocks if blocks in having else ""):
            values = {name: value for name, value in case.values.items() if value >> widths.get(name, 0) == 0}
            values = {name: value for name, value in values.items() if name in widths}
            if values and len(values) >= LEAST * len(case.values):
                found.append(values)
    return found


def blocks_of(config: NicConfig) -> str:
    return "+".join(sorted(block.name for block in config.blocks))


def read(text: str) -> Iterator[Case]:
    """The cases that `written` wrote: a line `case NAME BLOCKS`, then a line for each module with its fields, each with
    its value unless that is 0."""
    name, blocks, values = "", "", dict[str, int]()
    for line in text.splitlines():
        head, *rest = line.split()
        if head == "case":
            if name:
                yield Case(name, blocks, values)
            name, blocks, values = rest[0], " ".join(rest[1:]), {}
            continue
        module = TOP if head == "." else f"{TOP}{head}."
        for one in rest:
            field, _, value = one.partition("=")
            values[module + field] = int(value or "0", 16)
    if name:
        yield Case(name, blocks, values)


def written(cases: Sequence[Case]) -> str:
    lines = []
    for case in cases:
        lines.append(f"case {case.name} {case.blocks}".rstrip())
        modules: dict[str, list[str]] = {}
        for name, value in sorted(case.values.items()):
            module, _, field = name.removeprefix(TOP).rpartition(".")
            modules.setdefault(module or ".", []).append(f"{field}={value:x}" if value else field)
        lines += [f" {module} {' '.join(fields)}" for module, fields in modules.items()]
    return "\n".join(lines) + "\n"
