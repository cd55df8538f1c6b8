"""A traced run as a schedule in GOAL, the text that LogGOPSim reads: each rank's sends, receives and computing, with
what each of them waits for.

Times of messages are left out, since LogGOPSim's own parameters decide them. What stays is what the program did
between its MPI calls, in nanoseconds, and which message met which receive.
"""

from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from typing import Any

from lanai_host.errors import UserError

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


# A traced run as an archive in OTF2, which Score-P's tools read: MPI calls as regions, and messages.

PICO = 10**12  # ticks of a second
Event = tuple[int, str, Any]  # time, kind, row


def write(trace: Trace, folder: str) -> int:
    """Write the archive into a folder that is not there yet. Return how many events it has."""
    try:
        import otf2
    except ImportError as error:
        raise UserError(f"an archive in OTF2 needs otf2 ({error}); pip install 'openlanai[otf2]'") from error
    if Path(folder).exists():
        raise UserError(f"{folder!r} is there already; name a folder that is not")
    count = 0
    with otf2.writer.open(folder, timer_resolution=PICO) as archive:
        made, mpi = archive.definitions, otf2.Paradigm.MPI
        node = made.system_tree_node("openlanai")
        places = [
            made.location("main", group=made.location_group(f"MPI rank {rank}", system_tree_parent=node))
            for rank in range(trace.ranks)
        ]
        made.group("locations", group_type=otf2.GroupType.COMM_LOCATIONS, paradigm=mpi, members=places)
        ranks = made.group("ranks", group_type=otf2.GroupType.COMM_GROUP, paradigm=mpi, members=places)
        world = made.comm("MPI_COMM_WORLD", group=ranks)
        regions = {name: made.region(name, paradigm=mpi) for name in dict.fromkeys(trace.names)}
        for rank, place in enumerate(places):
            writer = archive.event_writer_from_location(place)
            for time, kind, row in _events(trace, rank):
                count += 1
                if kind in ("enter", "leave"):
                    getattr(writer, kind)(time, regions[trace.name(row["name"])])
                elif kind == "mpi_send":
                    writer.mpi_send(time, int(row["target"]), world, _tag(row), int(row["bytes"]))
                else:
                    writer.mpi_recv(time, int(row["source"]), world, _tag(row), int(row["bytes"]))
    return count


def _tag(message: Any) -> int:
    return max(0, int(message["tag"]))


def _events(trace: Trace, rank: int) -> Iterator[Event]:
    """Give the calls of a rank, nested as they were, and its messages: sends as they are posted, receives as they
    are there."""
    return merge(_messages(trace, rank), _calls(trace, rank), key=lambda one: one[0])


def _calls(trace: Trace, rank: int) -> Iterator[Event]:
    """Give the beginnings and ends of calls. A call ends when the next one that is not inside it begins."""
    inside: list[Any] = []
    calls = trace.calls
    for call in calls[(calls["rank"] == rank) & (calls["end"] >= 0)]:
        while inside and inside[-1]["id"] != call["parent"]:
            yield _left(inside.pop())
        yield int(call["begin"]), "enter", call
        inside.append(call)
    while inside:
        yield _left(inside.pop())


def _left(call: Any) -> Event:
    return int(call["end"]), "leave", call


def _messages(trace: Trace, rank: int) -> list[Event]:
    requests = trace.requests
    found: list[Event] = []
    for request in requests[(requests["rank"] == rank) & (requests["message"] >= 0)]:
        message = trace.messages[request["message"]]
        if request["kind"] == RequestKind.SEND:
            found.append((int(request["posted"]), "mpi_send", message))
        elif request["completed"] >= 0:
            found.append((int(request["completed"]), "mpi_recv", message))
    return sorted(found, key=lambda one: one[0])
