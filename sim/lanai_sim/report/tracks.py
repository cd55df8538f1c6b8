"""A trace as a timeline: lanes for each rank's MPI calls and host work, each NIC's processor or adapter, DMA
engines and links, the switch's ports and the barrier tree.

Arrows go from the call that sent a message to the call in which it came.
"""

from typing import Any

import numpy as np

from lanai_firmware.vocabulary import Commands

from ..trace import Trace
from ..trace.schema import BY_NIC, HOST_KINDS, Engine, HostKind, RequestKind, State
from ..units import counted
from .activity import DMA, ENGINES, HOST, OUTSIDE, PEER, PIO, PROCESSOR, WIRE, short
from .messages import protocol_name
from .timeline import ADAPTER, BARRIER, CALL, Lane, Path, Timeline

# Numbers over time that a trace holds: queues, messages under way, credit and other room in use, shares of links and
# of the LBUS in use.

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


RANKS, NICS, SWITCH, TREE = "ranks", "NICs", "switch", "barrier tree"
HOST_PARTS = {HostKind.WAIT: PEER, HostKind.PIO_READ: PIO, HostKind.PIO_WRITE: PIO}
PROGRAMS = {"ccu": "processor: the daemon"}  # names of a NIC's processor, by device, beside "processor"
BLOCKS = {"remote": ("adapter", ADAPTER), "barrier": ("barrier tree", BARRIER)}  # by block: its lane, its kind


def timeline(trace: Trace) -> Timeline:
    """Return all since the ranks began, which is time 0."""
    made = Timeline(trace.started)
    for rank in range(trace.ranks):
        _calls(made, trace, rank)
        _host(made, trace, rank)
    for node in range(len(trace.nodes)):
        _processor(made, trace, node)
        _engines(made, trace, node)
        _adapter(made, trace, node)
        _blocks(made, trace, node)
    _packets(made, trace)
    _datagrams(made, trace)
    add_levels(made, trace)
    _arrows(made, trace)
    made.drop_empty()
    return made


def of_rank(made: Timeline, rank: int, name: str) -> Lane:
    return made.lane(RANKS, f"rank {rank}", name)


def of_nic(made: Timeline, node: int, *names: str, about: str = "") -> Lane:
    return made.lane(NICS, f"NIC {node}", *names, about=about)


def _calls(made: Timeline, trace: Trace, rank: int) -> None:
    for row in trace.calls[trace.calls["rank"] == rank]:
        end = int(row["end"]) if row["end"] >= 0 else trace.ends[rank]
        details: dict[str, Any] = {
            name: int(row[name]) for name in ("peer", "tag", "context", "bytes") if row[name] >= 0
        }
        details |= _at(trace, int(row["id"]))
        lane = of_rank(made, rank, "MPI")
        made.slice(lane, CALL, trace.name(int(row["name"])), int(row["begin"]), end, -1, details)


def _at(trace: Trace, call: int) -> dict[str, str]:
    """Say where the program made a call, if that is known."""
    site = trace.site(call)
    return {"at": site} if site else {}


def _host(made: Timeline, trace: Trace, rank: int) -> None:
    """Kinds are those of the ranks' bars: what waits outside any call is the program's time."""
    for row in trace.host[trace.host["rank"] == rank]:
        kind = int(row["kind"])
        details: dict[str, Any] = {}
        name = HOST_KINDS[kind].lower().replace("_", " ")
        if kind == HostKind.WAIT:
            if row["reason"] < len(trace.names):
                details["for"] = trace.name(int(row["reason"]))
            details |= {"peer": int(row["peer"])} if row["peer"] >= 0 else {}
        else:
            details |= {name: int(row[name]) for name in ("count", "bytes") if row[name] > 1}
        part = HOST_PARTS.get(kind, HOST)  # type: ignore[call-overload]
        if row["call"] < 0 and kind == HostKind.WAIT:
            part = OUTSIDE
        elif row["call"] >= 0:
            details["in"] = trace.name(int(trace.calls["name"][row["call"]]))
            details |= _at(trace, int(row["call"]))
        made.slice(of_rank(made, rank, "host work"), part, name, int(row["begin"]), int(row["end"]), -1, details)


def _processor(made: Timeline, trace: Trace, node: int) -> None:
    """Stretches of one function for one message become one slice."""
    rows = trace.processor[(trace.processor["node"] == node) & (trace.processor["state"] == State.RUN)]
    if not len(rows):
        return
    lane = of_nic(made, node, PROGRAMS.get(trace.meta.get("device", ""), "processor"))
    unique, which = np.unique(rows["pc"], return_inverse=True)
    places = [trace.firmware.where(int(pc)) for pc in unique]
    names = [short(place.function) or f"{pc:#x}" for place, pc in zip(places, unique, strict=True)]
    lines = [f"{place.file.split('/')[-1]}:{place.line}" if place.file else "" for place in places]
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
        details: dict[str, Any] = {"line": lines[which[first]]} if lines[which[first]] else {}
        details |= {"slots stalled": int(stalled[index])} if stalled[index] else {}
        message = int(rows["message"][first])
        made.slice(lane, PROCESSOR, names[numbers[first]], int(begins[index]), int(ends[index]), message, details)


def _engines(made: Timeline, trace: Trace, node: int) -> None:
    for engine in Engine:
        rows = trace.dma[(trace.dma["node"] == node) & (trace.dma["engine"] == engine)]
        begins, ends = trace.picoseconds(rows["begin"]), trace.picoseconds(rows["end"])
        for index, row in enumerate(rows):
            lane = of_nic(made, node, "DMA", ENGINES[engine])
            size, details = int(row["bytes"]), {"SRAM": f"{row['local']:#x}"}
            if row["host"] and engine in (Engine.HOST_READ, Engine.HOST_WRITE):
                details["host memory"] = f"{row['host']:#x}"
            made.slice(
                lane, DMA, counted(size, "byte"), int(begins[index]), int(ends[index]), int(row["message"]), details
            )


def _adapter(made: Timeline, trace: Trace, node: int) -> None:
    """The remote-memory adapter is the one master of its NIC's host bus: no firmware runs."""
    if not isinstance(trace.vocabulary, Commands):
        return
    rows = trace.hostbus[(trace.hostbus["node"] == node) & (trace.hostbus["master"] == BY_NIC)]
    begins, ends = trace.picoseconds(rows["begin"]), trace.picoseconds(rows["end"])
    for index, row in enumerate(rows):
        lane = of_nic(made, node, "adapter", "host memory", about="transfers of the adapter over the host bus")
        name = f"{'write' if row['write'] else 'read'} {counted(int(row['bytes']), 'byte')}"
        details = {"host memory": f"{row['address']:#x}"}
        made.slice(lane, ADAPTER, name, int(begins[index]), int(ends[index]), int(row["message"]), details)


def _blocks(made: Timeline, trace: Trace, node: int) -> None:
    """A lane for each signal of the optional blocks, with a slice for each slot in which it was high."""
    rows = trace.blocks[trace.blocks["node"] == node]
    begins, ends = trace.picoseconds(rows["slot"]), trace.picoseconds(rows["slot"] + 1)
    for index, row in enumerate(rows):
        block, name, meaning = trace.block_signals[int(row["signal"])]
        group, kind = BLOCKS.get(block, (block, ADAPTER))
        if kind == BARRIER:
            lane = made.lane(TREE, f"NIC {node}", name, about=meaning)
        else:
            lane = of_nic(made, node, group, name, about=meaning)
        made.slice(lane, kind, name, int(begins[index]), int(ends[index]))


def _packets(made: Timeline, trace: Trace) -> None:
    """A packet is drawn where it leaves, where it arrives, and at the port of the switch that it leaves by: as long
    before its arrival as the last link takes."""
    config = trace.meta.get("config", {})
    delay = trace.picoseconds(int(config.get("nic", {}).get("link_latency", 0)))
    switched = str(config.get("fabric", "")).partition(":")[0] == "switch"
    for node in range(len(trace.nodes)) if switched else ():
        made.lane(SWITCH, f"port to NIC {node}", about="one link's latency before it arrives")
    for row in trace.packets[trace.packets["head"] >= 0]:
        _packet(made, trace, row, of_nic(made, row["source"], "link out"), "head", "tail", 0)
    for row in trace.packets[trace.packets["arrival_head"] >= 0]:
        _packet(made, trace, row, of_nic(made, row["target"], "link in"), "arrival_head", "arrival_tail", 0)
        if switched:
            port = made.lane(SWITCH, f"port to NIC {row['target']}")
            _packet(made, trace, row, port, "arrival_head", "arrival_tail", delay)


def _packet(made: Timeline, trace: Trace, row: Any, lane: Lane, head: str, tail: str, earlier: int) -> None:
    begin, end = (trace.picoseconds(int(row[column])) - earlier for column in (head, tail))
    kind = "" if trace.vocabulary is None else f"{trace.vocabulary.type_name(int(row['kind']))} "
    details = {"bytes": int(row["bytes"]), "from NIC": int(row["source"]), "to NIC": int(row["target"])}
    made.slice(lane, WIRE, f"{kind}packet {row['id']}", begin, max(begin, end), int(row["message"]), details)


def _datagrams(made: Timeline, trace: Trace) -> None:
    """A lane for each rank. A datagram that has left is still on its way when the next one leaves: it is drawn until
    then, as slices of a lane must not overlap."""
    for source in range(trace.ranks):
        rows = trace.lines[trace.messages["source"][trace.lines["message"]] == source]
        ends = np.minimum(rows["end"], np.append(rows["begin"][1:], np.iinfo(np.int64).max))
        for row, end in zip(rows, ends.tolist(), strict=True):
            message = trace.messages[int(row["message"])]
            lane, name = of_rank(made, source, "datagrams"), f"{message['bytes']} bytes"
            details = {"to rank": int(message["target"]), "bytes": int(message["bytes"])}
            made.slice(lane, WIRE, name, int(row["begin"]), int(end), int(row["message"]), details)


def _arrows(made: Timeline, trace: Trace) -> None:
    """Draw an arrow for each message, from the call that sent it to the call in which the data came."""
    for row in trace.messages[(trace.messages["send_call"] >= 0) & (trace.messages["completed"] >= 0)]:
        call = trace.calls[int(row["send_call"])]
        source, target = (of_rank(made, row[side], "MPI") for side in ("source", "target"))
        name = f"{counted(int(row['bytes']), 'byte')}, tag {row['tag']}, {protocol_name(row)}"
        made.arrow(name, source, int(call["begin"]), target, max(int(row["completed"]) - 1, 0))
