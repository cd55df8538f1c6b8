"""What the ranks of a run have chosen, as `lanai_host.orders` records it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanai_host.orders import ACCESS, ALL, DONE, MATCH, SEND, TEST, WAITS, Choice, record_file
from lanai_host.source_lines import symbolized

KINDS = (MATCH, SEND, DONE, ACCESS, TEST)
SELDOM = (SEND, ACCESS, TEST)  # kinds that are told only if they wait


@dataclass(frozen=True)
class Made:
    """A choice that a rank has made. `others`: what it might have been instead; `usual`: what it is
    without a plan; `missed`: what the plan said and
    was not possible."""

    choice: Choice
    others: tuple[int, ...] = ()
    usual: int = 0
    site: str = ""
    tag: int | None = None
    call: str = ""
    missed: int | None = None

    @property
    def key(self) -> tuple[int, str, int]:
        return self.choice[:3]

    @property
    def told(self) -> bool:
        """It belongs into a schedule."""
        return self.choice.kind not in SELDOM or self.choice.value == WAITS

    @property
    def place(self) -> str:
        """The source line of the call."""
        path, plus, offset = self.site.rpartition("+")
        return symbolized(path, int(offset, 16)) if plus else self.site

    def words(self) -> str:
        """Return the choice as a report tells it."""
        rank, kind, number, value = self.choice
        at = f" at {self.place}" if self.site else ""
        if kind == MATCH:
            return f"rank {rank}{at}: wildcard {number + 1} takes the message of rank {value} with tag {self.tag}"
        if kind == SEND:
            return f"rank {rank}{at}: standard send {number + 1} waits for its receive"
        if kind == ACCESS:
            return f"rank {rank}{at}: {self.call} waits until the other ranks have done what they can"
        if kind == TEST:
            return f"rank {rank}{at}: {self.call} finds nothing yet"
        given = "all that are done" if value == ALL else f"request {value}"
        return f"rank {rank}{at}: {self.call} gives {given}"


def read(folder: Path, ranks: int) -> list[Made]:
    """Return what all ranks have chosen, by rank. A last line that was cut short is left out."""
    found: list[Made] = []
    for rank in range(ranks):
        path = record_file(folder, rank)
        if path.exists():
            found += _made(rank, list(_lines(path)))
    return found


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


def _made(rank: int, records: list[dict[str, Any]]) -> Iterable[Made]:
    late: dict[int, list[int]] = {}
    for one in records:
        if one["k"] == "late":
            late.setdefault(one["n"], []).append(one["of"])
    for one in records:
        if one["k"] in KINDS:
            came = late.get(one["n"], []) if one["k"] == MATCH else []
            others = tuple(value for value in (*one["of"], *came) if value != one["v"])
            told = {name: one[name] for name in ("site", "tag", "call", "missed") if name in one}
            yield Made(Choice(rank, one["k"], one["n"], one["v"]), others, one["of"][0], **told)
