"""A trace as a timeline for Perfetto: a track for each rank's MPI calls and host work, each NIC's
processor, DMA engines and link.

Arrows go from the call that sent a message to the call in which it came.
"""

from typing import Any

import numpy as np

from ..trace import Trace
from ..trace.schema import HOST_KINDS, Engine, HostKind, State
from ..units import counted
from .activity import ENGINES, short
from .messages import protocol_name
from .perfetto import Timeline


def timeline(trace: Trace) -> Timeline:
    """All since the ranks began, which is time 0."""
    made = Timeline(trace.started)
    for rank in range(trace.ranks):
        _calls(made, trace, rank)
        _host(made, trace, rank)
    for node in range(len(trace.nodes)):
        _processor(made, trace, node)
        _engines(made, trace, node)
        _blocks(made, trace, node)
    _packets(made, trace)
    _datagrams(made, trace)
    _arrows(made, trace)
    return made


def _calls(made: Timeline, trace: Trace, rank: int) -> None:
    track = made.track(f"rank {rank}", "MPI")
    for row in trace.calls[trace.calls["rank"] == rank]:
        end = int(row["end"]) if row["end"] >= 0 else trace.ends[rank]
        args = {name: int(row[name]) for name in ("peer", "tag", "context", "bytes") if row[name] >= 0}
        made.slice(track, trace.name(int(row["name"])), int(row["begin"]), end, {"call": int(row["id"]), **args})


def _host(made: Timeline, trace: Trace, rank: int) -> None:
    track = made.track(f"rank {rank}", "host work")
    for row in trace.host[trace.host["rank"] == rank]:
        if row["kind"] == HostKind.WAIT:
            reason = trace.name(int(row["reason"])) if row["reason"] < len(trace.names) else ""
            args = {"reason": reason, "peer": int(row["peer"])}
        else:
            args = {"count": int(row["count"]), "bytes": int(row["bytes"])}
        name = HOST_KINDS[int(row["kind"])].lower().replace("_", " ")
        made.slice(track, name, int(row["begin"]), int(row["end"]), args)


def _processor(made: Timeline, trace: Trace, node: int) -> None:
    """Stretches of one function for one message become one slice."""
    track = made.track(f"NIC {node}", "processor")
    rows = trace.processor[(trace.processor["node"] == node) & (trace.processor["state"] == State.RUN)]
    if not len(rows):
        return
    where = trace.firmware.where
    unique, which = np.unique(rows["pc"], return_inverse=True)
    names = [short(where(int(pc)).function) or f"{pc:#x}" for pc in unique]
    numbers = np.array([names.index(name) for name in names])[which]
    breaks = (
        (numbers[1:] != numbers[:-1])
        | (rows["message"][1:] != rows["message"][:-1])
        | (rows["begin"][1:] != rows["end"][:-1])
    )
    starts = np.concatenate([[0], np.flatnonzero(breaks) + 1])
    stops = np.concatenate([starts[1:], [len(rows)]])
    stalled = np.add.reduceat(rows["stalled"], starts)
    begins, ends = trace.picoseconds(rows["begin"][starts]), trace.picoseconds(rows["end"][stops - 1])
    for index, first in enumerate(starts.tolist()):
        args = _message(rows[first]) | {"slots stalled": int(stalled[index])}
        made.slice(track, names[numbers[first]], int(begins[index]), int(ends[index]), args)


def _engines(made: Timeline, trace: Trace, node: int) -> None:
    for engine in Engine:
        rows = trace.dma[(trace.dma["node"] == node) & (trace.dma["engine"] == engine)]
        track = made.track(f"NIC {node}", f"DMA {ENGINES[engine]}")
        begins, ends = trace.picoseconds(rows["begin"]), trace.picoseconds(rows["end"])
        for index, row in enumerate(rows):
            args = _message(row) | {"bytes": int(row["bytes"]), "SRAM": f"{row['local']:#x}"}
            made.slice(track, counted(int(row["bytes"]), "byte"), int(begins[index]), int(ends[index]), args)


def _blocks(made: Timeline, trace: Trace, node: int) -> None:
    """A track for each signal of the optional blocks, with a slice for each slot in which it was high."""
    rows = trace.blocks[trace.blocks["node"] == node]
    begins, ends = trace.picoseconds(rows["slot"]), trace.picoseconds(rows["slot"] + 1)
    for index, row in enumerate(rows):
        block, name, meaning = trace.block_signals[int(row["signal"])]
        track = made.track(f"NIC {node}", f"{block} {name}")
        made.slice(track, name, int(begins[index]), int(ends[index]), {"meaning": meaning})


def _packets(made: Timeline, trace: Trace) -> None:
    vocabulary = trace.vocabulary
    for row in trace.packets[trace.packets["head"] >= 0]:
        track = made.track(f"NIC {row['source']}", "link out")
        begin, end = trace.picoseconds(int(row["head"])), trace.picoseconds(int(row["tail"]))
        args: dict[str, Any] = _message(row) | {
            "to NIC": int(row["target"]),
            "channel": int(row["channel"]),
            "bytes": int(row["bytes"]),
        }
        if vocabulary is not None:
            args["type"] = vocabulary.type_name(int(row["kind"]))
        made.slice(track, f"packet {row['id']}", begin, max(begin, end), args)


def _datagrams(made: Timeline, trace: Trace) -> None:
    """A track for each rank. A datagram that has left is still on its way when the next one leaves: it is drawn until
    then, as slices of a track must not overlap."""
    for source in range(trace.ranks):
        rows = trace.lines[trace.messages["source"][trace.lines["message"]] == source]
        ends = np.minimum(rows["end"], np.append(rows["begin"][1:], np.iinfo(np.int64).max))
        for row, end in zip(rows, ends.tolist(), strict=True):
            message = trace.messages[int(row["message"])]
            track = made.track(f"rank {source}", "datagrams")
            args = {"message": int(row["message"]), "to rank": int(message["target"]), "bytes": int(message["bytes"])}
            made.slice(track, f"{message['bytes']} bytes", int(row["begin"]), int(end), args)


def _arrows(made: Timeline, trace: Trace) -> None:
    """From the call that sent to the call in which the data came."""
    for row in trace.messages[(trace.messages["send_call"] >= 0) & (trace.messages["completed"] >= 0)]:
        call = trace.calls[int(row["send_call"])]
        source, target = (made.track(f"rank {row[side]}", "MPI") for side in ("source", "target"))
        name = f"{counted(int(row['bytes']), 'byte')}, tag {row['tag']}, {protocol_name(row)}"
        made.arrow(name, source, int(call["begin"]), target, max(int(row["completed"]) - 1, 0))


def _message(row: Any) -> dict[str, int]:
    return {"message": int(row["message"])} if row["message"] >= 0 else {}
