"""Room at receivers that senders take and get back: credit, places of a ring, bytes of a FIFO.

Packets tell of it where NICs keep count, or their headers do (`PACKETS.paid` and `given`). Hosts note what no packet
tells (`Note.ROOM`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanai_firmware.vocabulary import Room

from .schema import ROOM
from .stored import StoredTrace


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
