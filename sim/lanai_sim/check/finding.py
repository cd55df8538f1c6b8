"""A finding, and the classes of findings."""

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """The classes. Their values are part of the formats that are written."""

    DEADLOCK = "deadlock"
    BUFFERING = "relies-on-buffering"
    DATATYPE = "datatype-mismatch"
    TRUNCATION = "truncation"
    NOT_RECEIVED = "message-not-received"
    READY = "ready-send"
    ORDER = "collective-mismatch"
    ROOT = "collective-root"
    OPERATION = "collective-operation"
    SIGNATURE = "collective-signature"
    ARGUMENT = "invalid-argument"
    CALL = "invalid-call"
    EPOCH = "epoch"
    RACE = "one-sided-race"
    MODIFIED = "buffer-modified"
    READ = "buffer-read"
    FREED = "buffer-freed"
    IN_USE = "buffer-in-use"
    ALIASING = "buffer-aliasing"
    OVERLAP = "buffer-overlap"
    SIZE = "buffer-size"
    TYPE = "buffer-type"
    REQUEST = "request-leak"
    LEAK = "leak"
    THREAD_LEVEL = "thread-level"
    NOT_FINALIZED = "not-finalized"
    CRASH = "crash"
    ERROR = "mpi-error"
    PORTABILITY = "portability"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Members:
        ranks: the processes of it, by world rank; `calls` and `lines` are in the same order where a
            finding is about a call of each of them.
        lines: "file:line" of each call, "" where it is not known.
        text: what is wrong, as a sentence without its full stop.
        hint: what to do.
        note: it may be right; it does not count.
    """

    kind: Kind
    ranks: tuple[int, ...]
    calls: tuple[str, ...]
    lines: tuple[str, ...]
    text: str
    hint: str
    note: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """Findings of one key are told once."""
        return (
            self.kind,
            tuple(sorted(zip(self.calls, self.lines, strict=False))),
            self.text if not any(self.lines) else "",
        )

    def document(self) -> dict[str, Any]:
        return {
            "class": str(self.kind),
            "ranks": list(self.ranks),
            "calls": list(self.calls),
            "lines": list(self.lines),
            "text": self.text,
            "hint": self.hint,
        }


def finding(kind: Kind, sides: Sequence[tuple[int, str, str]], text: str, hint: str, *, note: bool = False) -> Finding:
    """Return a finding about calls: (rank, call, line) of each."""
    ranks, calls, lines = zip(*sides, strict=True) if sides else ((), (), ())
    return Finding(kind, tuple(ranks), tuple(calls), tuple(lines), text, hint, note)


def merged(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings without those that say the same of other ranks, whose ranks are added."""
    kept: dict[tuple[object, ...], Finding] = {}
    for one in found:
        kept.setdefault((*one.key, one.note), one)
    return list(kept.values())


class PythonNames:
    """The names that Python calls at a line, instead of MPI's functions that it leads to.

    Attributes:
        calls: (function, line) and what Python calls there, of calls that Python made.
    """

    def __init__(self, calls: Iterable[tuple[str, str, str]]) -> None:
        """`calls`: function, line, what Python calls there."""
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for name, line, python in calls:
            found[name, line].add(python)
        self.calls = {key: names.pop() for key, names in found.items() if len(names) == 1 and "" not in names}

    def replaced(self, one: Finding) -> Finding:
        """Return a finding whose text speaks of Python's calls."""
        text = _PLACED.sub(self._placed, one.text)
        for (name, line), python in self.calls.items():
            if line in one.lines:
                text = re.sub(rf"\b{name}\b(?! at |\))", python, text)
        if text != one.text:
            text = _BUFFER.sub(lambda found: _BUFFERS[found[0]], text)
        hint = one.hint if text == one.text else _METHOD.sub(r"\1", one.hint)
        return dataclasses.replace(one, text=text, hint=hint)

    def _placed(self, found: re.Match[str]) -> str:
        name, line = found[1], found[2]
        python = self.calls.get((name, line))
        if python is None:
            return found[0]
        same = name.casefold().endswith("_" + python.rpartition(".")[2].casefold())
        return f"{python} at {line}" + ("" if same else f" ({name})")


_METHOD = re.compile(r"\bMPI_([A-Z][a-z]+)\b")  # that mpi4py has too
_PLACED = re.compile(r"\b(MPI_\w+) at (.+?:\d+)")
_BUFFERS = {
    "buf": "the buffer", "sendbuf": "the send buffer", "recvbuf": "the receive buffer",
    "origin_addr": "the origin's buffer", "result_addr": "the result's buffer", "compare_addr": "the compared buffer",
}  # fmt: skip
_BUFFER = re.compile(rf"\b({'|'.join(_BUFFERS)})\b")


def at(call: str, line: str) -> str:
    """Return a call with its place, for a sentence."""
    return f"{call} at {line}" if line else call
