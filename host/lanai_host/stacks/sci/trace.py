"""This device's messages as traces find them in the adapter's packets."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lanai_firmware.vocabulary import ControlPart, Controls, Room, SeenControl

from ...adapter import trace
from .layout import CHUNK_ROOM, RING_ROOM, SLOT_ROOM, Layout
from .packets import Kind

HEAD = struct.Struct(">HHiIII")  # of a control packet: kind, context, tag, length, and two numbers


def plan(layout: Layout) -> Mapping[str, int]:
    """Return the layout of a segment: bytes of each peer's part, where in it the control packets are and end, and how
    far apart they are.
    """
    return {"part": layout.part, "control": layout.control, "first": layout.packet(0, 0), "pitch": layout.pitch}


def see(words: Sequence[int], offset: int, length: int, sender: int, plan: Mapping[str, Any]) -> SeenControl:
    """A write to the part of `sender`."""
    at = offset - sender * int(plan["part"])
    if not 0 <= at < int(plan["part"]):
        return SeenControl(ControlPart.NONE)
    if at >= int(plan["control"]):
        return SeenControl(ControlPart.BYTES)
    begins = at >= int(plan["first"]) and (at - int(plan["first"])) % int(plan["pitch"]) == 0
    if not begins or 4 * len(words) < HEAD.size:  # words of the state, or the rest of a packet that left in parts
        return SeenControl(ControlPart.NONE)
    kind, context, tag, size, a, b = HEAD.unpack_from(struct.pack(f">{len(words)}I", *words))
    match kind:
        case Kind.SHORT:
            return SeenControl(ControlPart.INSIDE, context, tag, size)
        case Kind.EAGER:
            return SeenControl(ControlPart.WRITTEN, context, tag, size)
        case Kind.REQUEST:
            return SeenControl(ControlPart.ASKS, context, tag, size, number=a)
        case Kind.READY:
            return SeenControl(ControlPart.ANSWERS, length=size, number=a, place=b)
        case Kind.CHUNK:
            return SeenControl(ControlPart.PART, length=size, place=a)
    return SeenControl(ControlPart.NONE)


ROOMS = (
    Room(SLOT_ROOM, "slots", "slots of its peers for eager messages that it has taken and not got back"),
    Room(CHUNK_ROOM, "buffers", "buffers of its peers for parts of long messages that it has taken and not got back"),
    Room(RING_ROOM, "packets", "control packets that it has written to its peers and that they have not read"),
)
VOCABULARY = replace(trace.VOCABULARY, messages=Controls(see), local=lambda plan: plan.get("local", False), rooms=ROOMS)
