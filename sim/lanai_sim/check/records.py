"""The records of a run, as `lanai_host.abi.checking` says: read, and grouped by call."""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]
ARGUMENTS = frozenset(  # error classes that blame an argument
    {
        "BUFFER", "COUNT", "TYPE", "TAG", "COMM", "RANK", "ROOT", "GROUP", "OP", "TOPOLOGY", "DIMS", "ARG",
        "REQUEST", "KEYVAL", "SIZE", "DISP", "BASE", "LOCKTYPE", "ASSERT", "WIN", "RMA_RANGE", "RMA_ATTACH",
        "RMA_SHARED", "RMA_FLAVOR", "INFO", "INFO_KEY", "INFO_VALUE", "INFO_NOKEY", "ERRHANDLER", "SESSION",
        "AMODE", "FILE", "VALUE_TOO_LARGE",
    }
)  # fmt: skip


@dataclass
class Call:
    """One MPI call of a rank: its name, line, begin and end in nanoseconds (None if it did not end). `python`: what
    Python calls there, such as `comm.recv`."""

    rank: int
    number: int
    name: str
    line: str
    begin: int
    end: int | None = None
    python: str = ""

    @property
    def side(self) -> tuple[int, str, str]:
        return self.rank, self.name, self.line


@dataclass
class Rank:
    """The records of one rank. `others` are the records that are not of kind `call` or `end`."""

    rank: int
    calls: dict[int, Call] = field(default_factory=dict)
    others: list[Record] = field(default_factory=list)

    def of(self, *kinds: str) -> Iterator[Record]:
        return (record for record in self.others if record["k"] in kinds)

    def made(self, *kinds: str) -> Iterator[Record]:
        """Give the records of calls that were not refused for their arguments."""
        refused = {record["n"] for record in self.of("error") if record["class"] in ARGUMENTS and not record["fatal"]}
        return (record for record in self.of(*kinds) if record["n"] not in refused)

    def call(self, record: Record) -> Call:
        """Return the call that a record belongs to."""
        made = self.calls[record["n"]]
        return made if "s" not in record else dataclasses.replace(made, line=record["s"])

    @property
    def over(self) -> bool:
        return any(self.of("over"))

    @property
    def threads(self) -> bool:
        """More than one thread has called MPI."""
        return any(self.of("threads"))

    @property
    def full(self) -> bool:
        return any(self.of("full"))


def read(directory: Path) -> list[Rank]:
    """Return what all ranks have recorded, by rank. A last line that was cut short is left out."""
    paths = {int(path.stem.removeprefix("rank")): path for path in directory.glob("rank*.jsonl")}
    return [_rank(number, paths[number]) for number in sorted(paths)]


def _rank(number: int, path: Path) -> Rank:
    rank = Rank(number)
    for line in path.read_text().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        kind = record["k"]
        if kind == "call":
            rank.calls[record["n"]] = Call(
                number, record["n"], record["c"], record["s"], record["t"], python=record.get("py", "")
            )
        elif kind == "end":
            rank.calls[record["n"]].end = record["t"]
        else:
            rank.others.append(record)
    return rank
