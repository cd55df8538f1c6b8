"""The vocabulary by which traces read the puts of `t3d`: the place to which a put goes tells what it means."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.put import main
from lanai_firmware.programs.put.layout import (
    BODY,
    BUS,
    KIND_AT,
    KIND_MASK,
    LENGTH,
    NODES,
    RING,
    Border,
    Header,
    Kind,
    Request,
)
from lanai_firmware.programs.put.state import BUFFERS, Incoming, Nic, Outgoing
from lanai_firmware.vocabulary import MESSAGE_SLOTS, Part, Places, Puts, SeenPut, Table, Touch

from ...adapter import trace
from .heap import HEADER, LONG, REPLY, WORD, HeapLayout
from .windows import name_of

HEAD_WORDS = int(sizeof(Header)) // WORD.size
SEEN = 7  # words of a packet that traces keep
QUESTIONS = 8  # types of questions are their kinds and this


class Type(IntEnum):
    """The type of a packet."""

    SHORT = Part.SHORT
    LONG = Part.LONG
    REPLY = Part.REPLY
    BYTES = Part.BYTES
    ARRIVED = Part.ARRIVED
    FREED = Part.FREED
    REST = Part.REST
    HEAP = QUESTIONS  # put anywhere else in the heap
    GET = QUESTIONS + Kind.GET
    SWAP = QUESTIONS + Kind.SWAP
    ADD = QUESTIONS + Kind.ADD
    FENCE = QUESTIONS + Kind.FENCE
    ANSWER = QUESTIONS + Kind.ANSWER


def plan(nic: int, layout: HeapLayout) -> dict[str, int]:
    """Return where the firmware's memory and the parts of a heap are."""
    return {"nic": nic, **heap_plan(layout)}


def heap_plan(layout: HeapLayout) -> dict[str, int]:
    """Return where the parts of a heap are."""
    return {
        "slots": layout.slot(0),
        "slot_size": layout.slot_size,
        "status": layout.slot_size - HEADER.size + layout.status,
        "mode": layout.slot_size - HEADER.size + (0 if layout.status else WORD.size),
        "flags": layout.flag(0),
        "replies": layout.reply(0),
        "reply_size": layout.reply_size,
        "arrivals": layout.arrival(0),
        "end": layout.nothing,
    }


def see(words: Sequence[int], plan: Mapping[str, Any]) -> SeenPut:
    """A packet by its first words."""
    address, length, number = words[:HEAD_WORDS]
    source, size = number >> 16 & int(NODES) - 1, length & int(LENGTH)
    kind = length >> int(KIND_AT) & int(KIND_MASK)
    if kind != Kind.PUT:
        return SeenPut(source, QUESTIONS + kind)
    if length & int(BUS):
        return SeenPut(source, int(Part.BYTES), Part.BYTES, address, size, -1, None)
    return see_in_heap(source, address, size, words[HEAD_WORDS:], plan)


def see_in_heap(source: int, address: int, size: int, content: Sequence[int], plan: Mapping[str, Any]) -> SeenPut:
    """A put into the heap by its first words."""
    found = _in_heap(address, size, content, plan)
    if found is None:
        return SeenPut(source, Type.HEAP, address=address, length=size)
    part, reply, first, announces = found
    return SeenPut(source, int(part), part, address, size, reply, first, announces)


def _in_heap(
    address: int, size: int, content: Sequence[int], plan: Mapping[str, Any]
) -> tuple[Part, int, int | None, bool] | None:
    """Return the part of the heap that a put writes, the number of the reply structure, the first address in it, and
    whether it is a part of the header of a long message."""
    if plan["slots"] <= address < plan["flags"]:
        part, is_long = _in_slot((address - plan["slots"]) % plan["slot_size"], size, content, plan)
        return part, -1, None, is_long
    if plan["flags"] <= address < plan["replies"]:
        return Part.FREED, -1, None, False
    if plan["replies"] <= address < plan["arrivals"]:
        number, offset = divmod(address - plan["replies"], plan["reply_size"])
        if offset < plan["reply_size"] - REPLY.size:
            return Part.REPLY, number, content[0], False
        return Part.REST, number, None, False
    return (Part.ARRIVED, -1, None, False) if plan["arrivals"] <= address < plan["end"] else None


def _in_slot(offset: int, size: int, content: Sequence[int], plan: Mapping[str, Any]) -> tuple[Part, bool]:
    """Message and header are one put where puts keep their order. The part with the status counts. The header of a
    long message stands alone, so that its mode is among the first words."""
    place = (plan["mode"] - offset) // WORD.size
    is_long = 0 <= place < len(content) and offset <= plan["mode"] < offset + size and content[place] == LONG
    if not offset <= plan["status"] < offset + size:
        return Part.REST, is_long
    return (Part.LONG if is_long else Part.SHORT), is_long


def packets(op: int, length: int) -> int:
    """A put is cut into packets; a question is one."""
    return max(1, -(-length // int(BODY))) if op == Kind.PUT else 1


def tables(plan: Mapping[str, Any]) -> list[Table]:
    """Return the tables in the firmware's memory.

    The firmware polls at a request's number, so only reads of the bytes before it show that the firmware handles the
    request.
    """
    nic = plan["nic"]
    incoming, outgoing, request = int(sizeof(Incoming)), int(sizeof(Outgoing)), int(sizeof(Request))
    requests = nic + int(offset_of(Nic, "border")) + int(offset_of(Border, "requests"))
    number = int(offset_of(Request, "number"))
    return [
        Table(Touch.SLOT, requests, int(RING), request, 0, number),
        Table(Touch.STAGE, nic + int(offset_of(Nic, "outgoing")), BUFFERS, outgoing, 0, outgoing),
        Table(Touch.BUFFER, nic + int(offset_of(Nic, "incoming")), BUFFERS, incoming, 0, incoming),
    ]


def bodies(plan: Mapping[str, Any]) -> range:
    """The buffers of packets."""
    nic = plan.get("nic", 1 << 32)
    return range(nic + int(offset_of(Nic, "outgoing")), nic + int(offset_of(Nic, "asks")))


VOCABULARY = Puts(
    header=Header,
    types=Type,
    tables=tables,
    bodies=bodies,
    spilled=lambda plan: range(0),
    cut_through=None,
    scheduler=f"{main.__name__}.{main.turn.__name__}",
    slots=int(RING),
    see=see,
    packets=packets,
    answers=frozenset({int(Type.ANSWER)}),
    rooms=(MESSAGE_SLOTS,),
)


# The vocabulary by which traces read the puts of `t3d` that the shell carries out: writes of the adapter.

HEAP = 0  # a rank's exposure that is its heap


def see_shell(
    words: Sequence[int], exposure: int, offset: int, length: int, source: int, plan: Mapping[str, Any]
) -> SeenPut:
    """A write to the heap, or to a window by its name."""
    if exposure == HEAP:
        return see_in_heap(source, offset, length, words, plan)
    return SeenPut(source, int(Part.BYTES), Part.BYTES, name_of(exposure, offset), length, -1)


SHELL_VOCABULARY = replace(trace.VOCABULARY, messages=Places(see_shell), rooms=(MESSAGE_SLOTS,))
