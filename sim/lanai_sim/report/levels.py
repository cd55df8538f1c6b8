"""Numbers over time that a trace holds: queues, messages under way, credit and other room in use, shares of links and
of the LBUS in use."""

from typing import Any

import numpy as np

from ..trace import Trace
from ..trace.schema import Engine, RequestKind
from .timeline import Path, Timeline

WINDOWS = 400  # of a run, for the share of a link
QUEUES = {
    "queue of host DMA": (Engine.HOST_READ, Engine.HOST_WRITE),
    "queue of send DMA": (Engine.SEND,),
}


def add_levels(made: Timeline, trace: Trace) -> None:
    """Add a lane for each number that changes."""
    for rank in range(trace.ranks):
        _requests(made, trace, rank)
        _messages(made, trace, rank)
    _rooms(made, trace)
    for node in range(len(trace.nodes)):
        _queues(made, trace, node)
        _lbus(made, trace, node)
        _link(made, trace, node)


def _requests(made: Timeline, trace: Trace, rank: int) -> None:
    """Count the receives that are posted and not done."""
    rows = trace.requests[(trace.requests["rank"] == rank) & (trace.requests["kind"] != RequestKind.SEND)]
    path = ("ranks", f"rank {rank}", "receives posted")
    _steps(made, path, "receives", rows["posted"], _until(trace, rank, rows["completed"]))


def _messages(made: Timeline, trace: Trace, rank: int) -> None:
    rows = trace.messages[trace.messages["source"] == rank]
    path = ("ranks", f"rank {rank}", "bytes under way")
    _steps(made, path, "bytes", rows["posted"], _until(trace, rank, rows["completed"]), rows["bytes"])
    rows = trace.messages[(trace.messages["target"] == rank) & (trace.messages["arrived"] >= 0)]
    came, received = np.asarray(trace.picoseconds(rows["arrived"])), _until(trace, rank, rows["received"])
    early = came < received
    path = ("ranks", f"rank {rank}", "messages without a receive")
    _steps(made, path, "messages", came[early], received[early])


def _rooms(made: Timeline, trace: Trace) -> None:
    """Show the room that senders have taken and not got back: credit, places of rings and the like."""
    for number, room in enumerate(trace.rooms):
        rows = trace.room[trace.room["room"] == number]
        place = "node" if room.of_nodes else "peer" if room.at_owner else "rank"
        for one in np.unique(rows[place]).tolist():
            mine = rows[rows[place] == one]
            times, at = np.unique(mine["time"], return_inverse=True)
            changes = np.zeros(len(times), np.int64)
            np.add.at(changes, at, mine["change"])
            path = ("NICs", f"NIC {one}", room.name) if room.of_nodes else ("ranks", f"rank {one}", room.name)
            made.lane(*path, about=room.about)
            _show(made, path, room.unit, times, np.cumsum(changes))


def _queues(made: Timeline, trace: Trace, node: int) -> None:
    """Count the descriptors that wait for their engine."""
    mine = trace.dma[trace.dma["node"] == node]
    for name, engines in QUEUES.items():
        rows = mine[np.isin(mine["engine"], engines) & (mine["begin"] > mine["posted"])]
        path = ("NICs", f"NIC {node}", name)
        _steps(made, path, "descriptors", *(trace.picoseconds(rows[column]) for column in ("posted", "begin")))


def _lbus(made: Timeline, trace: Trace, node: int) -> None:
    """Show the share of slots in use, window by window. Windows without a row had none."""
    rows = trace.lbus[trace.lbus["node"] == node]
    if not len(rows):
        return
    begins, ends = rows["begin"], rows["begin"] + rows["slots"]
    shares = 100 * rows["used"].sum(axis=1) // np.maximum(rows["slots"], 1)
    gaps = np.append(begins[1:] != ends[:-1], True)
    times = np.concatenate([begins, ends[gaps]])
    levels = np.concatenate([shares, np.zeros(int(gaps.sum()), np.int64)])
    _show(made, ("NICs", f"NIC {node}", "LBUS in use"), "% of slots", trace.picoseconds(times), levels)


def _link(made: Timeline, trace: Trace, node: int) -> None:
    """Show the share of time in which the outgoing link carried a packet, in windows of the run."""
    rows = trace.packets[(trace.packets["source"] == node) & (trace.packets["head"] >= 0)]
    begins, ends = (np.asarray(trace.picoseconds(rows[column])) for column in ("head", "tail"))
    length = (max(trace.ends) - trace.started) // WINDOWS + 1
    edges = trace.started + length * np.arange(WINDOWS + 1)
    if not (ends > trace.started).any():
        return
    busy = np.diff([np.minimum(ends, at).sum() - np.minimum(begins, at).sum() for at in edges.tolist()])
    _show(made, ("NICs", f"NIC {node}", "link out in use"), "% of time", edges[:-1], 100 * busy // length)


def _until(trace: Trace, rank: int, times: Any) -> Any:
    """Return the times, and the rank's end for what never ended."""
    return np.where(times >= 0, times, trace.ends[rank])


def _steps(made: Timeline, path: Path, unit: str, ups: Any, downs: Any, weights: Any = None) -> None:
    """Show how many (or how much by `weights`) have begun and not ended, if there ever is one."""
    if not len(ups):
        return
    weights = np.ones(len(ups), np.int64) if weights is None else np.asarray(weights, np.int64)
    times, place = np.unique(np.concatenate([ups, downs]), return_inverse=True)
    changes = np.zeros(len(times), np.int64)
    np.add.at(changes, place, np.concatenate([weights, -weights]))
    levels = np.cumsum(changes)
    if levels.any():
        _show(made, path, unit, times, levels)


def _show(made: Timeline, path: Path, unit: str, times: Any, levels: Any) -> None:
    """Times in order; a level that is the one before is left out."""
    times, levels = np.asarray(times), np.asarray(levels)
    order = np.argsort(times, kind="stable")
    times, levels = times[order], levels[order]
    changed = np.append(True, levels[1:] != levels[:-1])
    made.values(made.lane(*path), unit, times[changed].tolist(), levels[changed].tolist())
