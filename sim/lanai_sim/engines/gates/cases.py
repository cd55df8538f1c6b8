"""Cases: fields of registers that often have certain values together, as while a part of the NIC does nothing.

A step for a case takes its values for constants, so that LLVM leaves out what they decide. One comparison of the state
before each step chooses it, or the step for any state: a value that is not held any more costs speed and nothing else.
`cases.txt` has the cases, which `lanai dev replay usual` chooses from runs (`choose`). Files of that name in the
directories on LANAI_PATH have those of NICs with other blocks, and come first.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanai_hdl.config import NicConfig
from lanai_host.plugins import CASES, directories

PATH = Path(__file__).with_name(CASES)
TOP = "lanai_nic."
LEAST = 0.8  # of a case's fields must a model have
NUMBER = re.compile(r"\$(\d+)(?=\[|$)")


@dataclass(frozen=True)
class Case:
    """`values` of fields, by their stable names. `nics`: what `kind_of` calls the NICs that it is for."""

    name: str
    nics: str
    values: Mapping[str, int]


def kind_of(config: NicConfig) -> str:
    """Name a NIC's optional hardware: its blocks, each with those of its parts that it has not by default."""
    found = []
    for block in config.blocks:
        more = [name for name, value in vars(block).items() if value and not getattr(type(block), name, True)]
        found.append(".".join([block.name, *more]))
    return "+".join(sorted(found)) or "alone"


def texts(config: object) -> list[str]:
    """Return the written cases of a NIC. A NIC without its own gets those of all others, for `known` to choose from."""
    if not isinstance(config, NicConfig):
        return []
    files = [Path(directory, CASES) for directory in directories()]
    every = [part for path in (*files, PATH) if path.is_file() for part in _parts(path.read_text())]
    own = [part for part in every if _kind(part) == kind_of(config)]
    return own[:1] or every


def known(names: Mapping[str, int], config: object) -> list[dict[str, int]]:
    """Return the fields and their values of each case for a design whose fields have these names and widths. NICs
    without their own cases take those of which they have most."""
    named = {stable: name for name, stable in stable_names(names).items()}
    best: list[dict[str, int]] = []
    for part in texts(config):
        found = []
        for case in read(part):
            here = {named[name]: value for name, value in case.values.items() if name in named}
            here = {name: value for name, value in here.items() if value >> names[name] == 0}
            if here and len(here) >= LEAST * len(case.values):
                found.append(here)
        best = max(best, found, key=lambda one: max(map(len, one), default=0))
    return best


def stable_names(names: Iterable[str]) -> dict[str, str]:
    """Return each name with other numbers. Amaranth tells equal names in a module apart by a number (`control$567`)
    that each edit of the module changes; the order of these numbers mostly stays."""
    split = {name: [_numbered(part) for part in name.split(".")] for name in names}
    numbers: dict[tuple[object, ...], set[int]] = defaultdict(set)
    for parts in split.values():
        for depth, (base, number, _) in enumerate(parts):
            if number is not None:
                numbers[(*parts[:depth], base)].add(number)
    order = {place: {number: at for at, number in enumerate(sorted(found), 1)} for place, found in numbers.items()}
    return {
        name: ".".join(
            base + ("" if number is None else f"${order[(*parts[:depth], base)][number]}") + rest
            for depth, (base, number, rest) in enumerate(parts)
        )
        for name, parts in split.items()
    }


def _numbered(part: str) -> tuple[str, int | None, str]:
    """Split a part of a name before and after its number."""
    found = NUMBER.search(part)
    return (part[: found.start()], int(found[1]), part[found.end() :]) if found else (part, None, "")


def _parts(text: str) -> list[str]:
    """The cases of each kind of NIC."""
    return re.findall(r"^nic .*\n(?:(?!nic ).*\n)*", text, re.MULTILINE)


def _kind(part: str) -> str:
    return part.splitlines()[0].removeprefix("nic ")


def read(text: str) -> Iterator[Case]:
    """The cases that `written` wrote: a line `nic KIND`, then a line `case NAME` for each, then a line for each module
    with its fields, each with its value unless that is 0. A case has the lines of the one before it, but for modules
    with a line of their own."""
    kind, name = "", ""
    modules: dict[str, dict[str, int]] = {}
    for line in [*text.splitlines(), "nic"]:
        head, *rest = line.split()
        if line[0] != " " and name:
            yield Case(name, kind, {module + field: one[field] for module, one in modules.items() for field in one})
        if line[0] == " ":
            values = (one.partition("=") for one in rest)
            modules[TOP if head == "." else f"{TOP}{head}."] = {one: int(value or "0", 16) for one, _, value in values}
        elif head == "case":
            name = rest[0]
        else:
            kind, name, modules = " ".join(rest), "", {}


def written(cases: Sequence[Case]) -> str:
    lines: list[str] = []
    kind, before = "", dict[str, str]()
    for case in cases:
        if case.nics != kind:
            kind, before = case.nics, {}
            lines.append(f"nic {kind}")
        lines.append(f"case {case.name}")
        modules: dict[str, list[str]] = {module: [] for module in before}
        for name, value in sorted(case.values.items()):
            module, _, field = name.removeprefix(TOP).rpartition(".")
            modules.setdefault(module or ".", []).append(f"{field}={value:x}" if value else field)
        now = {module: " ".join([module, *found]) for module, found in modules.items()}
        lines += [f" {line}" for module, line in now.items() if before.get(module) != line]
        before = now
    return "\n".join(lines) + "\n"
