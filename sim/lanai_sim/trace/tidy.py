"""A trace's tables with times in microseconds and names in place of numbers, for frames.

Times count from the moment at which the ranks began, so that what NICs did before is negative. A time that is not known
is NaN. Other numbers keep -1 for "none" or "not known".
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanai_firmware.vocabulary import Room
from lanai_hdl.errors import unknown
from lanai_host.abi.observe import MODES

from .schema import BY_HOST, HOST_KINDS, LBUS_USERS, ROOM, Engine, Fault, Protocol, RequestKind, State
from .stored import StoredTrace

# Room at receivers that senders take and get back: credit, places of a ring, bytes of a FIFO.
#
# Packets tell of it where NICs keep count, or their headers do (`PACKETS.paid` and `given`). Hosts note what no packet
# tells (`Note.ROOM`).


def known(trace: StoredTrace) -> list[Room]:
    """Return the system's rooms, then those that only its hosts name."""
    vocabulary = trace.vocabulary
    found = [] if vocabulary is None else list(vocabulary.rooms)
    names = {room.name for room in found}
    noted = dict.fromkeys(trace.name(number) for number in np.unique(trace.stored(b"ROOM")["name"]).tolist())
    return found + [Room(name, "units", "as the host notes it") for name in noted if name not in names]


def changes(trace: StoredTrace, kinds: Sequence[Room], packets: Any) -> Any:
    """Return who took how much room at whom and when, or gave it back, by time."""
    found = np.concatenate([*_of_packets(trace, kinds, packets), _of_hosts(trace, kinds)])
    return found[np.argsort(found["time"], kind="stable")]


def _of_packets(trace: StoredTrace, kinds: Sequence[Room], packets: Any) -> list[Any]:
    """Return what packets take, and what they give back when they arrive."""
    if not kinds:
        return []
    room = kinds[0]
    takes, gives = packets[packets["paid"] > 0], packets[packets["given"] > 0]
    taken, given = np.zeros(len(takes), ROOM), np.zeros(len(gives), ROOM)
    taken["time"] = trace.picoseconds(takes["arrival_tail" if room.from_arrival else "head"])
    given["time"] = trace.picoseconds(gives["arrival_tail"])
    taken["change"], given["change"] = takes["paid"], -gives["given"]
    taken["node"], given["node"] = takes["source"], gives["target"]
    for user, owner, part, rows in (("from_rank", "to_rank", taken, takes), ("to_rank", "from_rank", given, gives)):
        part["rank"], part["peer"] = (-1, -1) if room.of_nodes else (rows[user], rows[owner])
    return [part[part["time"] >= 0] for part in (taken, given)]


def _of_hosts(trace: StoredTrace, kinds: Sequence[Room]) -> Any:
    stored = trace.stored(b"ROOM")
    numbers = {room.name: number for number, room in enumerate(kinds)}
    found = np.zeros(len(stored), ROOM)
    found["room"] = [numbers[trace.name(name)] for name in stored["name"].tolist()]
    for column in ("rank", "peer", "change", "time"):
        found[column] = stored[column]
    found["node"] = stored["rank"] // int(trace.meta["ranks_per_node"])
    return found


HOST_TIMES = frozenset({"begin", "end", "posted", "received", "sent", "completed", "time"})  # picoseconds
OF_NICS = frozenset({"dma", "processor", "lbus", "hostbus"})  # whose times are slots
SLOTS = frozenset({"left", "arrived", "head", "tail", "arrival_head", "arrival_tail", "slot"})  # in any table
DURATIONS = frozenset({"stalled"})  # slots
BYTES = {"length": "length_bytes"}
TABLES = (
    "calls", "host", "requests", "messages", "lines", "packets", "room", "dma", "processor", "lbus", "blocks",
    "hostbus",
)  # fmt: skip
Columns = dict[str, Any]


def tidy(trace: StoredTrace, table: str) -> Columns:
    """Return the columns of a table. Raises UserError for one that traces do not have."""
    if table not in TABLES:
        raise unknown("table", table, TABLES)
    rows = getattr(trace, table)
    found: Columns = {}
    for name in rows.dtype.names:
        found |= _column(trace, table, name, rows[name])
    if "begin_us" in found and "end_us" in found:
        found["took_us"] = np.round(found["end_us"] - found["begin_us"], 6)  # picoseconds
    return found


def _column(trace: StoredTrace, table: str, name: str, values: Any) -> Columns:
    """Return what stands for a column: itself, with a unit or words, or several."""
    if (table, name) in WORDS:
        return WORDS[table, name](trace, values)
    if name in DURATIONS:
        return {f"{name}_us": trace.picoseconds(values) / 1e6}
    if name in SLOTS or (name in HOST_TIMES and table in OF_NICS):
        return {f"{'time' if name == 'slot' else name}_us": _microseconds(trace, trace.picoseconds(values))}
    if name in HOST_TIMES:
        return {f"{name}_us": _microseconds(trace, values)}
    if values.ndim > 1:
        return {f"{name}_{user.replace(' ', '_').lower()}_slots": values[:, n] for n, user in enumerate(LBUS_USERS)}
    return {BYTES.get(name, name): values}


def _microseconds(trace: StoredTrace, picoseconds: Any) -> Any:
    return np.where(picoseconds < 0, np.nan, (picoseconds - trace.started) / 1e6)


def _texts(values: Any, text: Callable[[int], str]) -> list[str]:
    """Return a text for each number; each number is looked up once."""
    known = {number: text(number) for number in set(values.tolist())}
    return [known[number] for number in values.tolist()]


def _members(column: str, kinds: Any) -> Callable[[StoredTrace, Any], Columns]:
    """An enum's numbers as its members' names."""
    names = {int(kind): kind.name.lower().replace("_", " ") for kind in kinds}
    return lambda trace, values: {column: _texts(values, lambda number: names.get(number, str(number)))}


def _modes(trace: StoredTrace, numbers: Any) -> Columns:
    """The modes of sends; a receive has none."""
    sends = (trace.stored(b"RQST")["kind"] == RequestKind.SEND).tolist()
    pairs = zip(numbers.tolist(), sends, strict=True)
    names = {number: mode.name.lower() for mode, number in MODES.items()}
    return {"mode": [names[number] if send else "" for number, send in pairs]}


def _places(trace: StoredTrace, pcs: Any) -> Columns:
    """Function, file and line of program counters."""
    places = {pc: trace.firmware.where(pc) for pc in set(pcs.tolist())}
    found = [places[pc] for pc in pcs.tolist()]
    return {
        "pc": pcs,
        "function": [place.function for place in found],
        "file": [place.file for place in found],
        "line": [place.line for place in found],
    }


def _signals(trace: StoredTrace, numbers: Any) -> Columns:
    signals = trace.block_signals
    return {
        "block": _texts(numbers, lambda number: signals[number][0]),
        "signal": _texts(numbers, lambda number: signals[number][1]),
    }


def _rooms(trace: StoredTrace, numbers: Any) -> Columns:
    kinds = known(trace)
    return {
        "room": _texts(numbers, lambda number: kinds[number].name),
        "unit": _texts(numbers, lambda number: kinds[number].unit),
    }


def _type(trace: StoredTrace, number: int) -> str:
    return str(number) if trace.vocabulary is None else trace.vocabulary.type_name(number)


WORDS: dict[tuple[str, str], Callable[[StoredTrace, Any], Columns]] = {
    ("calls", "name"): lambda trace, values: {"name": _texts(values, trace.name)},
    ("calls", "site"): lambda trace, values: {
        "site": _texts(values, lambda site: trace.name(site) if site >= 0 else "")
    },
    ("host", "kind"): lambda trace, values: {
        "kind": _texts(values, lambda number: HOST_KINDS[number].lower().replace("_", " "))
    },
    ("host", "reason"): lambda trace, values: {"reason": _texts(values, trace.name)},
    ("requests", "kind"): _members("kind", RequestKind),
    ("requests", "mode"): _modes,
    ("messages", "protocol"): _members("protocol", Protocol),
    ("packets", "kind"): lambda trace, values: {"kind": _texts(values, lambda number: _type(trace, number))},
    ("room", "room"): _rooms,
    ("packets", "fault"): _members("fault", Fault),
    ("dma", "engine"): _members("engine", Engine),
    ("processor", "state"): _members("state", State),
    ("processor", "pc"): _places,
    ("blocks", "signal"): _signals,
    ("hostbus", "master"): lambda trace, values: {
        "master": _texts(values, lambda number: "host" if number == BY_HOST else "NIC")
    },
    ("hostbus", "write"): lambda trace, values: {"write": values.astype(bool)},
}
