"""Write a timeline as Perfetto's own protocol buffers, which ui.perfetto.dev opens.

Lanes are tracks in tracks, values are counters, arrows are flows. Perfetto's time is in nanoseconds; each
slice that is not whole nanoseconds tells its exact begin and length among its arguments.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any

from lanai_firmware import output_file

from .timeline import Lane, Timeline

# Protocol buffers as bytes: as much of the encoding as a writer needs.

Member = tuple[int, int | float | str | bytes]  # number of the field, value


def varint(number: int) -> bytes:
    """Return a whole number, seven bits a byte, the lowest first. A negative one takes all 64 bits."""
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def member(number: int, value: int | float | str | bytes) -> bytes:
    """Return one field of a message: an int as varint, a float as double, a text or message with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fixed64(number: int, value: int) -> bytes:
    """Return a field of type fixed64."""
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def message(members: Iterable[Member]) -> bytes:
    """Return a message of these fields."""
    return b"".join(member(number, value) for number, value in members)


SEQUENCE = 1  # of packets: the file has one
CLEARED, NEEDED = 1, 2  # in sequence_flags: names begin anew; this packet uses names
EXPLICIT = 3  # TrackDescriptor.child_ordering
THOUSAND = 1000  # picoseconds in a nanosecond
PACKET = 1  # Trace


class TracePacket(IntEnum):
    """Numbers of fields, as in perfetto/trace/trace_packet.proto. The classes below are its parts."""

    TIMESTAMP = 8
    SEQUENCE_ID = 10
    TRACK_EVENT = 11
    INTERNED_DATA = 12
    SEQUENCE_FLAGS = 13
    TRACK_DESCRIPTOR = 60


class Track(IntEnum):
    """TrackDescriptor."""

    UUID = 1
    NAME = 2
    PARENT_UUID = 5
    COUNTER = 8
    CHILD_ORDERING = 11
    SIBLING_ORDER_RANK = 12
    DESCRIPTION = 14


UNIT_NAME = 6  # CounterDescriptor


class Event(IntEnum):
    """TrackEvent."""

    CATEGORY_IIDS = 3
    DEBUG_ANNOTATIONS = 4
    TYPE = 9
    NAME_IID = 10
    TRACK_UUID = 11
    COUNTER_VALUE = 30
    FLOW_IDS = 47
    TERMINATING_FLOW_IDS = 48


class Type(IntEnum):
    """TrackEvent.Type."""

    BEGIN = 1
    END = 2
    COUNTER = 4


class Annotation(IntEnum):
    """DebugAnnotation."""

    NAME_IID = 1
    INT_VALUE = 4
    STRING_VALUE = 6


class Interned(IntEnum):
    """InternedData: texts that the file has once."""

    CATEGORIES = 1
    EVENT_NAMES = 2
    ANNOTATION_NAMES = 3


IID, NAME = 1, 2  # of an entry of InternedData


def write(path: str | Path, timeline: Timeline, about: Mapping[str, Any]) -> int:
    """Write the file, and return how many slices, values and arrows it holds. `about`: what is known of the run.
    Raises UserError if the file cannot be written."""
    made = _File(timeline)
    with output_file.replaced(path, "the timeline") as place, open(place, "wb") as file:
        for packet in made.packets(about):
            file.write(member(PACKET, packet))
    return made.events


class _File:
    """The packets of one file. A track's uuid is its place among all lanes, from 1; the run's own is 0xFFFF_FFFF."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.events = 0
        self._iids: dict[Interned, dict[str, int]] = {kind: {} for kind in Interned}
        self._new: list[tuple[int, bytes]] = []  # entries that the next packet must hold
        self._uuids = {lane.path: number for number, lane in enumerate(timeline.lanes, 1)}
        self._flows: dict[int, list[tuple[int, int, bool]]] = {}  # by track: time, number, whether it ends here
        for number, arrow in enumerate(timeline.arrows, 1):
            self._flows.setdefault(self._uuids[arrow.source.path], []).append((arrow.begin, number, False))
            self._flows.setdefault(self._uuids[arrow.target.path], []).append((arrow.end, number, True))

    def packets(self, about: Mapping[str, Any]) -> Iterator[bytes]:
        yield message([(TracePacket.SEQUENCE_ID, SEQUENCE), (TracePacket.SEQUENCE_FLAGS, CLEARED)])
        yield from self._run(about)
        for rank, lane in enumerate(self.timeline.top, 1):
            yield from self._tree(lane, 0, rank)
        for lane in self.timeline.lanes:
            yield from self._slices(lane)
            yield from self._values(lane)
        self.events += len(self.timeline.arrows)

    def _run(self, about: Mapping[str, Any]) -> Iterator[bytes]:
        """A track above all with one slice: the run, and what is known of it."""
        end = max((one.end for lane in self.timeline.lanes for one in lane.slices), default=0)
        yield self._described([(Track.UUID, RUN), (Track.NAME, "run"), (Track.SIBLING_ORDER_RANK, 0)])
        yield from self._slice(RUN, "run", "run", 0, end, about)

    def _tree(self, lane: Lane, parent: int, rank: int) -> Iterator[bytes]:
        """Describe a lane, and those below it."""
        uuid = self._uuids[lane.path]
        members: list[tuple[int, Any]] = [(Track.UUID, uuid), (Track.NAME, lane.name)]
        members += [(Track.PARENT_UUID, parent)] if parent else []
        members += [(Track.SIBLING_ORDER_RANK, rank), (Track.CHILD_ORDERING, EXPLICIT)]
        members += [(Track.DESCRIPTION, lane.about)] if lane.about else []
        if lane.values is not None:
            members.append((Track.COUNTER, message([(UNIT_NAME, lane.values.unit)])))
        yield self._described(members)
        for place, child in enumerate(lane.children):
            yield from self._tree(child, uuid, place)

    def _described(self, members: list[tuple[int, Any]]) -> bytes:
        return message([(TracePacket.SEQUENCE_ID, SEQUENCE), (TracePacket.TRACK_DESCRIPTOR, message(members))])

    def _slices(self, lane: Lane) -> Iterator[bytes]:
        """A slice begins in the file before those inside it."""
        uuid = self._uuids[lane.path]
        flows = sorted(self._flows.get(uuid, ()))
        for one in sorted(lane.slices, key=lambda one: (one.begin, -one.end)):
            details = dict(one.details)
            if one.message >= 0:
                details["message"] = one.message
            if one.begin % THOUSAND or one.end % THOUSAND:
                details |= {"begin (ps)": one.begin, "length (ps)": one.end - one.begin}
            extra = b""
            while flows and flows[0][0] < one.end:
                _, number, ends = flows.pop(0)
                extra += fixed64(Event.TERMINATING_FLOW_IDS if ends else Event.FLOW_IDS, number)
            yield from self._slice(uuid, one.name, one.kind, one.begin, one.end, details, extra)

    def _slice(
        self, uuid: int, name: str, kind: str, begin: int, end: int, details: Mapping[str, Any], flows: bytes = b""
    ) -> Iterator[bytes]:
        self.events += 1
        event: list[tuple[int, Any]] = [
            (Event.TYPE, Type.BEGIN),
            (Event.TRACK_UUID, uuid),
            (Event.NAME_IID, self._iid(Interned.EVENT_NAMES, name)),
        ]
        event += [(Event.CATEGORY_IIDS, self._iid(Interned.CATEGORIES, kind))]
        event += [(Event.DEBUG_ANNOTATIONS, self._annotation(*one)) for one in details.items()]
        yield self._at(begin, message(event) + flows)
        yield self._at(end, message([(Event.TYPE, Type.END), (Event.TRACK_UUID, uuid)]))

    def _annotation(self, name: str, value: Any) -> bytes:
        """A number stays one; anything else becomes text."""
        iid = self._iid(Interned.ANNOTATION_NAMES, name)
        if isinstance(value, int):
            return message([(Annotation.NAME_IID, iid), (Annotation.INT_VALUE, value)])
        return message([(Annotation.NAME_IID, iid), (Annotation.STRING_VALUE, str(value))])

    def _iid(self, kind: Interned, text: str) -> int:
        """Return the number of a text of some kind. The packet that uses it first tells it."""
        known = self._iids[kind]
        if text not in known:
            known[text] = len(known) + 1
            self._new.append((kind, message([(IID, known[text]), (NAME, text)])))
        return known[text]

    def _values(self, lane: Lane) -> Iterator[bytes]:
        if lane.values is None:
            return
        for time, level in zip(lane.values.times, lane.values.levels, strict=True):
            self.events += 1
            members = [(Event.TYPE, Type.COUNTER), (Event.TRACK_UUID, self._uuids[lane.path])]
            yield self._at(time, message([*members, (Event.COUNTER_VALUE, level)]))

    def _at(self, time: int, event: bytes) -> bytes:
        members: list[tuple[int, Any]] = [
            (TracePacket.TIMESTAMP, round(time / THOUSAND)), (TracePacket.SEQUENCE_ID, SEQUENCE),
            (TracePacket.SEQUENCE_FLAGS, NEEDED),
        ]  # fmt: skip
        if self._new:
            members.append((TracePacket.INTERNED_DATA, message(self._new)))
            self._new = []
        return message([*members, (TracePacket.TRACK_EVENT, event)])


RUN = 0xFFFF_FFFF  # the uuid of the run's own track
