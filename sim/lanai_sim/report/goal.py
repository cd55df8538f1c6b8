"""A traced run as a schedule in GOAL, the text that LogGOPSim reads: each rank's sends, receives and computing, with
what each of them waits for.

Times of messages are left out, since LogGOPSim's own parameters decide them. What stays is what the program did
between its MPI calls, in nanoseconds, and which message met which receive.
"""

from collections.abc import Iterator
from typing import Any

from ..trace import Trace
from ..trace.schema import RequestKind

NANO = 1000  # picoseconds
LATER = ("MPI_I", "MPI_Start")  # begin the names of calls whose requests end later


def text(trace: Trace) -> str:
    """Return the schedule."""
    tags: dict[tuple[int, int], int] = {}
    parts = [f"num_ranks {trace.ranks}\n"]
    for rank in range(trace.ranks):
        body = "".join(f"{line}\n" for line in _Rank(trace, rank, tags).lines())
        parts.append(f"\nrank {rank} {{\n{body}}}\n")
    return "".join(parts)


class _Rank:
    """The schedule of one rank. `tags`: the numbers of all pairs of a context and a tag, as GOAL has tags alone."""

    def __init__(self, trace: Trace, rank: int, tags: dict[tuple[int, int], int]) -> None:
        self._trace = trace
        self._rank = rank
        self._tags = tags
        self._count = 0
        self._after: list[tuple[str, str]] = []  # what the next operation waits for, and how
        self._labels: dict[int, str] = {}  # of requests

    def lines(self) -> Iterator[str]:
        """Give the operations, each with its dependencies, in the order in which they began."""
        for _, _, kind, value in sorted(self._events(), key=lambda one: one[:2]):
            if kind == "ended":
                if value in self._labels:
                    self._after.append((self._labels[value], "requires"))
                continue
            label, operation = (self._label(), f"calc {value}") if kind == "calc" else self._message(value)
            yield f"{label}: {operation}"
            for other, how in dict(self._after).items():  # that it has ended says more
                yield f"{label} {how} {other}"
            self._after = [(label, "requires" if kind == "calc" else "irequires")]

    def _events(self) -> Iterator[tuple[int, int, str, Any]]:
        """Give (time, order at one time, kind, value): an operation begins, it has ended, the program computed."""
        calls = self._trace.calls[self._trace.calls["rank"] == self._rank]
        ends = [int(call["end"]) for call in calls if self._completes(call)]
        for request in self._trace.requests[self._trace.requests["rank"] == self._rank]:
            if request["message"] >= 0:
                number = 2 * int(request["id"])
                yield int(request["posted"]), number, "begun", request
                if (end := self._seen(request, ends)) is not None:
                    yield end, number + 1, "ended", int(request["id"])
        now = self._trace.started
        for call in calls[calls["parent"] < 0]:
            if call["begin"] - now >= NANO:
                yield int(call["begin"]), -1, "calc", (int(call["begin"]) - now) // NANO
            now = max(now, int(call["end"]))

    def _seen(self, request: Any, ends: list[int]) -> int | None:
        """Return when the program knew that a request had ended: at the end of its own call, if that waits, else of
        the next one that looks at requests."""
        own = self._trace.calls[request["call"]] if request["call"] >= 0 else None
        if own is not None and not self._trace.name(own["name"]).startswith(LATER):
            return int(own["end"])
        done = int(request["completed"])
        return next((end for end in ends if end >= done), None) if done >= 0 else None

    def _completes(self, call: Any) -> bool:
        name = self._trace.name(call["name"])
        return call["end"] >= 0 and ("Wait" in name or "Test" in name)

    def _message(self, request: Any) -> tuple[str, str]:
        message = self._trace.messages[request["message"]]
        label = self._labels[int(request["id"])] = self._label()
        tag = self._tags.setdefault((int(message["context"]), int(message["tag"])), len(self._tags))
        if request["kind"] == RequestKind.SEND:
            return label, f"send {message['bytes']}b to {message['target']} tag {tag}"
        return label, f"recv {message['bytes']}b from {message['source']} tag {tag}"

    def _label(self) -> str:
        self._count += 1
        return f"l{self._count}"
