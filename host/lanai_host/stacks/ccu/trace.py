"""The vocabulary by which traces read the packets of `ccu`: parts of messages, and acknowledgements."""

import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from lanai_firmware.lang import Struct, constants_set, offset_of, sizeof, u32
from lanai_firmware.programs.ccu import layout, main
from lanai_firmware.programs.ccu.state import Shared
from lanai_firmware.vocabulary import Fragments, Room, SeenFragment, Table, Touch

from .operations import HEADER, Kind
from .receiving import SOURCE


class Type(IntEnum):
    """The type of a packet."""

    DATA = int(layout.DATA)
    ACK = int(layout.ACK)


class Head(Struct):
    """The words in front of a packet's content, if it is for one node."""

    kind: u32
    target: u32
    tag: u32
    length: u32


def see(words: Sequence[int]) -> SeenFragment:
    """Return a packet as its first words tell it. In front of `tag`, length and content is a word for each target."""
    first, *rest = words
    source, count = first & 0xFFFF, first >> 16 & 0xFF
    if first >> 24 != layout.DATA:
        expects = rest[0] & 0xFFFF if first >> 24 == layout.ACK and rest else None
        return SeenFragment(source, first >> 24, expects=expects)
    targets = tuple((word >> 24, word >> 16 & 0xFF, word & 0xFFFF) for word in rest[:count])
    if len(rest) <= count:
        return SeenFragment(source, Type.DATA, targets)
    tag, content = rest[count], rest[count + 2 :]
    begins = bool(tag & int(layout.MPI_HEAD))
    ends = bool(tag & int(layout.MPI_TAIL))
    envelope = _envelope(content) if begins else None
    return SeenFragment(source, Type.DATA, targets, tag & SOURCE, begins, ends, envelope)


def _envelope(content: Sequence[int]) -> tuple[int, int] | None:
    """Return context and tag of a message of the program."""
    raw = b"".join(struct.pack(">I", word) for word in content[: HEADER.size // 4])
    if len(raw) < HEADER.size:
        raw = raw.ljust(HEADER.size, b"\0") if len(raw) >= 8 else b""
    if not raw:
        return None
    kind, context, tag, *_ = HEADER.unpack(raw)
    return None if kind == Kind.TAKEN else (context, tag)


def plan(shared: int, nodes: int) -> dict[str, int]:
    """Return where the pools are in the memory, from `shared` on, that the daemon shares with its ranks."""
    with constants_set(layout.sizes(nodes)):
        return {"packets": shared + int(offset_of(Shared, "packets"))}


def tables(plan: Mapping[str, Any]) -> list[Table]:
    """Return the pools of packets. Nothing tells which message the daemon works on, so no read of them counts."""
    size = int(sizeof(layout.Packet))
    return [Table(Touch.BUFFER, plan["packets"], int(layout.ENTRIES), size, 0, 0)]


WINDOW = Room(
    "window in use", "packets", "packets to other nodes that have left and are not acknowledged", of_nodes=True
)
VOCABULARY = Fragments(
    header=Head,
    types=Type,
    tables=tables,
    bodies=lambda plan: range(0),  # DMA goes to the ranks' rings, from which they copy
    spilled=lambda plan: range(0),
    cut_through=None,
    scheduler=f"{main.__name__}.{main.turn.__name__}",
    slots=0,
    see=see,
    local=lambda plan: True,
    rooms=(WINDOW,),
)
