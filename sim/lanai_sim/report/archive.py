"""A traced run as an archive in OTF2, which Score-P's tools read: MPI calls as regions, and messages."""

from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from typing import Any

from lanai_host.errors import UserError

from ..trace import Trace
from ..trace.schema import RequestKind

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
