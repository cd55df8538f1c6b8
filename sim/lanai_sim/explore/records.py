"""The choices of the ranks of a run, as `lanai_host.orders` records it."""

import hashlib
import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanai_host.orders import ACCESS, ALL, DONE, GOT, MATCH, SEND, SENT, TEST, WAITS, Choice, record_file
from lanai_host.source_lines import symbolized

# The order of what happens in a run, by vector clocks over its ranks' records.
#
# A message that was sent only after a wildcard had made its choice cannot be an alternative of it: its sender waits,
# over whatever ranks, for what the receiver does afterwards. Such an alternative need not be tried. An edge leads
# from a send to the moment at which the program is told that its receive has ended; what only the library knows
# counts for nothing, so that too few alternatives are left out rather than too many.


Record = dict[str, Any]
Clock = list[int]


def impossible(ranks: Sequence[Sequence[Record]]) -> set[tuple[int, int, int]]:
    """Return (rank, number of its match, sender) of late messages that were sent after the match, and because of it."""
    sends, matches = _clocks(ranks)
    found = set()
    for rank, records in enumerate(ranks):
        for one in records:
            if one["k"] == "late" and "i" in one:
                clock = sends.get((one["of"], rank, one["i"]))
                if clock is not None and clock[rank] >= matches[rank, one["n"]]:
                    found.add((rank, one["n"], one["of"]))
    return found


def _clocks(
    ranks: Sequence[Sequence[Record]],
) -> tuple[Mapping[tuple[int, int, int], Clock], Mapping[tuple[int, int], int]]:
    """Return the clock of each send, by sender, receiver and number, and the own time of each match."""
    sends: dict[tuple[int, int, int], Clock] = {}
    matches: dict[tuple[int, int], int] = {}
    clocks = [[0] * len(ranks) for _ in ranks]
    places = [0] * len(ranks)

    def step(rank: int, blind: bool) -> bool:
        """Take the next record of a rank, unless it waits for a send that is not known yet."""
        if places[rank] == len(ranks[rank]):
            return False
        one, clock = ranks[rank][places[rank]], clocks[rank]
        if one["k"] == GOT:
            known = sends.get((one["of"], rank, one["i"]))
            if known is None and not blind:
                return False
            clock[:] = map(max, clock, known or clock)
        clock[rank] += 1
        if one["k"] == SENT:
            sends[rank, one["to"], one["i"]] = list(clock)
        elif one["k"] == MATCH:
            matches[rank, one["n"]] = clock[rank]
        places[rank] += 1
        return True

    while True:
        moved = False
        for rank in range(len(ranks)):
            while step(rank, blind=False):
                moved = True
        if not moved and not any(step(rank, blind=True) for rank in range(len(ranks))):
            return sends, matches


KINDS = (MATCH, SEND, DONE, ACCESS, TEST)
SELDOM = (SEND, ACCESS, TEST)  # kinds that are told only if they wait


@dataclass(frozen=True)
class Made:
    """A choice that a rank has made. `others`: what it might have been instead; `usual`: what it is
    without a plan; `missed`: what the plan said and
    was not possible; `after`: what happens only after this choice, and so is not among the others; `ids`: the numbers
    of the messages that a match might have taken, by sender."""

    choice: Choice
    others: tuple[int, ...] = ()
    usual: int = 0
    site: str = ""
    tag: int | None = None
    call: str = ""
    missed: int | None = None
    after: tuple[int, ...] = ()
    ids: tuple[tuple[int, int], ...] = ()

    @property
    def key(self) -> tuple[int, str, int]:
        return self.choice[:3]

    @property
    def scheduled(self) -> bool:
        """It belongs into a schedule."""
        return self.choice.kind not in SELDOM or self.choice.value == WAITS

    @property
    def place(self) -> str:
        """The source line of the call."""
        return place_of_site(self.site)

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
    records = _records(folder, ranks)
    never = impossible(records)
    return [made for rank in range(ranks) for made in _made(rank, records[rank], never)]


def sends(folder: Path, ranks: int) -> dict[tuple[int, int, int], str]:
    """Return the places of sends by sender, receiver and number, if they were asked for."""
    return {
        (rank, one["to"], one["i"]): one["site"]
        for rank, records in enumerate(_records(folder, ranks))
        for one in records
        if one["k"] == SENT and "site" in one
    }


def threads(folder: Path, ranks: int) -> str:
    """Return which rank has had several threads; empty if none has."""
    for rank, records in enumerate(_records(folder, ranks)):
        for one in records:
            if "threads" in one:
                return f"rank {rank} has {one['threads']} threads"
    return ""


def _records(folder: Path, ranks: int) -> list[list[dict[str, Any]]]:
    paths = [record_file(folder, rank) for rank in range(ranks)]
    return [list(_lines(path)) if path.exists() else [] for path in paths]


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


def _made(rank: int, records: list[dict[str, Any]], never: Container[tuple[int, int, int]]) -> Iterable[Made]:
    late: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for one in records:
        if one["k"] == "late":
            kept = after if (rank, one["n"], one["of"]) in never else late
            kept.setdefault(one["n"], []).append(one["of"])
    for one in records:
        if one["k"] in KINDS:
            match = one["k"] == MATCH
            came = late.get(one["n"], []) if match else []
            others = tuple(value for value in (*one["of"], *came) if value != one["v"])
            told: dict[str, Any] = {name: one[name] for name in ("site", "tag", "call", "missed") if name in one}
            if match:
                told["after"] = tuple(after.get(one["n"], ()))
                told["ids"] = tuple((int(sender), number) for sender, number in one.get("ids", {}).items())
            yield Made(Choice(rank, one["k"], one["n"], one["v"]), others, one["of"][0], **told)


def place_of_site(site: str) -> str:
    """Return the source line of a place that a rank recorded."""
    path, plus, offset = site.rpartition("+")
    return symbolized(path, int(offset, 16)) if plus else site


# The files that a run has written, in a folder and below it.


LONGEST = 1 << 20  # bytes of a file that is compared line by line; of longer ones a digest is
MOST = 10_000  # files that are looked at
COARSE = 5_000_000  # nanoseconds by which the time of a file may be behind the clock


class Written:
    """Finds the files in `folder` that a run has written. `but`: files that are not a program's."""

    def __init__(self, folder: Path, but: Iterable[str] = ()) -> None:
        self._folder = folder
        self._but = {str(Path(name).resolve()) for name in but}

    def since(self, begin: int) -> dict[str, str]:
        """Return the files that were written since a time, in nanoseconds, with what is in them."""
        found = {}
        for path in self._files():
            if path.stat().st_mtime_ns >= begin - COARSE:
                found[str(path.relative_to(self._folder))] = _text(path)
        return found

    def _files(self) -> Iterator[Path]:
        count = 0
        for place, folders, names in os.walk(self._folder):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
            for name in sorted(names):
                path = Path(place, name)
                count += 1
                if count > MOST:
                    return
                if path.is_file() and str(path.resolve()) not in self._but:
                    yield path


def _text(path: Path) -> str:
    data = path.read_bytes()
    if len(data) > LONGEST:
        return f"{len(data)} bytes, digest {hashlib.sha256(data).hexdigest()[:16]}"
    return data.decode(errors="backslashreplace")
