"""The records of a run, as `lanai_host.abi.checking` says: read, and grouped by call."""

import dataclasses
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
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


# The order of events by MPI's own rules: vector clocks over the calls of all ranks.
#
# Records of all ranks are taken in the order of the machine's clock. An edge leads from the beginning of one call to
# the end of another: a message from its send to the end of its receive, a collective call from the ranks that it
# waits for.


Clock = tuple[int, ...]
Node = tuple[int, int]  # rank, number of its call
NEVER = 1 << 60
MOST_CALLS = 400_000


class Order:
    """Attributes: `begin` and `end`: the clock of each call when it began, and when it had ended."""

    def __init__(self, ranks: Sequence[Rank], edges: Iterable[tuple[Node, Node]]) -> None:
        """`edges`: (the call whose beginning, the call before whose end)."""
        self.begin: dict[Node, Clock] = {}
        self.end: dict[Node, Clock] = {}
        self._place = {rank.rank: index for index, rank in enumerate(ranks)}
        incoming: dict[Node, list[Node]] = defaultdict(list)
        for source, target in edges:
            incoming[target].append(source)
        events = [(call.begin, 0, rank.rank, call.number) for rank in ranks for call in rank.calls.values()]
        self.complete = len(events) <= MOST_CALLS
        if not self.complete:
            return
        events += [
            (call.end, 1, rank.rank, call.number)
            for rank in ranks
            for call in rank.calls.values()
            if call.end is not None
        ]
        clocks = {rank.rank: [0] * len(ranks) for rank in ranks}
        for _, ends, rank_, number in sorted(events):
            clock, node = clocks[rank_], (rank_, number)
            if ends:
                for source in incoming.get(node, ()):
                    known = self.begin.get(source)
                    if known is not None:
                        clock[:] = map(max, clock, known)
            clock[self._place[rank_]] += 1
            (self.end if ends else self.begin)[node] = tuple(clock)

    def tick(self, node: Node) -> int:
        """Return the time of its own rank at which a call began; NEVER if it did not."""
        clock = self.begin.get(node)
        return NEVER if clock is None else clock[self._place[node[0]]]

    def own(self, node: Node) -> int:
        """Return the time of its own rank at which a call had ended."""
        clock = self.end.get(node)
        return NEVER if clock is None else clock[self._place[node[0]]]

    def reached(self, rank: int, tick: int, clock: Clock) -> bool:
        """Return if what a rank had done by its time `tick` is done for all who have this clock."""
        return tick <= clock[self._place[rank]]

    def begun(self, first: Call, then: Call) -> bool:
        """Return if a call had begun, whatever the timing, when another began."""
        known = self.begin.get((then.rank, then.number))
        return known is not None and self.reached(first.rank, self.tick((first.rank, first.number)), known)
