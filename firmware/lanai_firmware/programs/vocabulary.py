"""The vocabulary of a firmware for traces: its packets' header and types, and which memory belongs to which
message.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from ..lang.types import layout, sizeof


class Role(IntEnum):
    """The part that a packet has in a message. Handles and receive entries are numbers that the header
    carries.
    """

    EAGER = 1  # envelope and body
    UNPAID = 2  # envelope and body, sent without credit: TAKEN or DROPPED answers
    PROMISE = 3  # envelope; ASK with the same `handle` fetches the body
    ACCEPT = 4  # envelope; BODY for the receive entry `handle` follows
    ASK = 5  # fetches the body of `handle` for the receive entry `tag`
    BODY = 6  # a part of the body, for the receive entry `tag`
    TAKEN = 7  # the last UNPAID of the channel was accepted
    DROPPED = 8  # ... was dropped: it is sent again


ENVELOPES = (Role.EAGER, Role.UNPAID, Role.PROMISE, Role.ACCEPT)


class Touch(IntEnum):
    """The thing that the firmware began to deal with: it read the first word of another one."""

    TURN = 0  # a new turn of the scheduler: nothing yet
    SLOT = 1  # a request slot; `index` counts them over all endpoints
    BUFFER = 2  # a buffer for received packets
    RECEIVE = 3  # a posted receive
    STAGE = 4  # a packet to be sent
    JOB = 5  # an answer under way
    MESSAGE = 6  # an unclaimed message


@dataclass(frozen=True)
class Table:
    """Entries of one kind in SRAM: `count` of `stride` bytes from `begin` on.

    Reading a byte from `first` to below `last` of an entry means that the firmware deals with that
    entry.
    """

    kind: Touch
    begin: int
    count: int
    stride: int
    first: int
    last: int

    @property
    def end(self) -> int:
        return self.begin + self.count * self.stride


@dataclass(frozen=True)
class CutThrough:
    """The packets that the firmware may pass on to the host while they arrive."""

    types: frozenset[int]
    first_look: int  # bytes of a packet that have come when the firmware looks at it
    enabled: Callable[[Mapping[str, Any]], bool]  # by a NIC's plan


@dataclass(frozen=True)
class Room:
    """Room at receivers that senders take and get back, of which a trace shows how much is in use.

    Attributes:
        name: of the lane that shows it.
        unit: of its counts.
        about: one line on what is counted.
        of_nodes: NICs take it, not ranks.
        at_owner: the lane is that of the receiver, whose room it is. Else it is the sender's.
        from_arrival: a packet takes it when it has arrived. Else it does so when it leaves.
    """

    name: str
    unit: str
    about: str
    of_nodes: bool = False
    at_owner: bool = False
    from_arrival: bool = False


MESSAGE_SLOTS = Room("credit in use", "slots", "message slots at its peers that it has taken and not got back")


@dataclass(frozen=True)
class Vocabulary(ABC):
    """One firmware's.

    Attributes:
        header: the struct at the beginning of each packet.
        types: packet types by name.
        tables: those of a NIC, by its plan, which is one of `NicStack.plans`.
        bodies: SRAM that holds bodies of messages, by the plan. It may be damaged: what is not in
            it counts as nothing.
        spilled: bus addresses of host memory in which the NIC leaves messages, by the plan. It is
            no rank's.
        cut_through: None if packets are always whole before they go on.
        scheduler: module, or function, in which the processor works for no message.
        slots: request slots of an endpoint.
        local: whether messages between ranks of one node are in no packet, by its plan.
        rooms: that packets and hosts tell of. Packets tell of the first one: `PACKETS.paid` and `given`.
    """

    header: type
    types: type[IntEnum]
    tables: Callable[[Mapping[str, Any]], Sequence[Table]]
    bodies: Callable[[Mapping[str, Any]], range]
    spilled: Callable[[Mapping[str, Any]], range]
    cut_through: CutThrough | None
    scheduler: str
    slots: int
    local: Callable[[Mapping[str, Any]], bool] = field(default=lambda plan: False, kw_only=True)
    rooms: tuple[Room, ...] = field(default=(), kw_only=True)

    @abstractmethod
    def text(self, words: Sequence[int]) -> str:
        """A packet from the first words of its header: what of it is known by then."""

    def member(self, words: Sequence[int], name: str) -> int:
        """A member of the header; of words that are missing zeros."""
        fields = layout(self.header)
        raw = b"".join(word.to_bytes(4, "big") for word in words).ljust(fields.size, b"\0")
        one = fields.fields[name]
        return int.from_bytes(raw[one.offset : one.offset + int(sizeof(one.kind))], "big")

    def is_whole(self, words: Sequence[int]) -> bool:
        """Are these all words of a header?"""
        return 4 * len(words) >= layout(self.header).size

    def type_name(self, number: int) -> str:
        """Return the name of a packet type, or its number if no type has it."""
        try:
            return self.types(number).name
        except ValueError:
            return f"type{number}"


@dataclass(frozen=True)
class Credit:
    """The way in which a channel's sender learns of free message slots at its receiver.

    Attributes:
        member: of the header: the slots that the packet's sender gives back. With `running` its upper half counts
            those of all packets so far, modulo 1 << 16.
        pays: types of packets that take a slot.
        returns: ... whose arrival gives back the slot of a packet that was not taken.
        silent: types of packets whose header does not have the member.
    """

    member: str
    pays: frozenset[int]
    returns: frozenset[int] = frozenset()
    running: bool = False
    silent: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Numbering:
    """The numbers of packets, by which those that are sent again are known.

    Attributes:
        member: of the header: counts the packets of a channel, modulo 1 << 16. They leave in this order. Envelopes
            do not tell their sequence then.
        enabled: whether packets are numbered, by a NIC's plan.
        without: types of packets that have no number.
    """

    member: str
    enabled: Callable[[Mapping[str, Any]], bool]
    without: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Channels(Vocabulary):
    """Packets belong to channels and have types. The header has the members type, channel, tag,
    length, sequence and handle.

    Attributes:
        roles: by type. Packets of other types belong to no message.
        sends: operation codes of requests that send.
        receives: ... that post a receive for a message to come.
        shortest: bytes of the shortest packet with a type; 0: those of the header.
        credit: None if headers do not tell it.
        numbering: None if each packet leaves once.
    """

    roles: Mapping[int, Role]
    sends: tuple[int, ...]
    receives: tuple[int, ...]
    shortest: int = 0
    credit: Credit | None = None
    numbering: Numbering | None = None

    def text(self, words: Sequence[int]) -> str:
        text = f"{self.type_name(self.member(words, 'type'))}_ch{self.member(words, 'channel')}"
        if not self.is_whole(words):
            return text
        tag, length, sequence = (self.member(words, name) for name in ("tag", "length", "sequence"))
        return f"{text}_tag{tag}_len{length}_seq{sequence}"


class Part(IntEnum):
    """The part that a put has in a message of its source or, of REPLY and FREED, of its target."""

    SHORT = 1  # a header and the bytes of the message: the next one of its pair
    LONG = 2  # a header, which REPLY answers: the next one of its pair
    REPLY = 3  # where bytes of the oldest LONG without an answer shall go, or more bytes of one that has an answer
    BYTES = 4  # of a message, to where REPLY said
    ARRIVED = 5  # all BYTES that one REPLY asked for have left
    FREED = 6  # the header of the last message of the pair has been read
    REST = 7  # of a slot or a REPLY, where not all of it is one put


class SeenPut(NamedTuple):
    """A packet, as read from its first words. `part` None: of no message. `reply`: the number that REPLY has
    at its target. `first`: where the first of its BYTES shall go; None if that is not in this
    packet. `announces`: the slot's header, of which this is a part, is that of a LONG."""

    source: int  # node
    type: int
    part: Part | None = None
    address: int = 0
    length: int = 0
    reply: int = 0
    first: int | None = None
    announces: bool = False


@dataclass(frozen=True)
class Puts(Vocabulary):
    """Packets put bytes to places in the memory of other nodes, each of which has one rank. The place
    gives a packet its meaning.

    Attributes:
        see: a packet by its first words and the plan.
        packets: how many of them a request becomes, by its operation code and length.
        answers: types of packets that no request has become.
    """

    see: Callable[[Sequence[int], Mapping[str, Any]], SeenPut]
    packets: Callable[[int, int], int]
    answers: frozenset[int]

    def text(self, words: Sequence[int]) -> str:
        members = layout(self.header).fields
        known = [name for name in members if members[name].offset < 4 * len(words)]
        return "PUT" + "".join(f"_{name}{self.member(words, name):x}" for name in known)


class SeenFragment(NamedTuple):
    """A packet, as read from its first words. `targets`: node, clients there (a bit for each) and number of the
    packet, of those that it is for. `begins`, `ends`: a message of `rank`. `envelope`: context and tag of one that
    begins; None if the words do not reach so far, or no message of the program begins. `expects`: of an
    acknowledgement: the number of the first packet that has not come."""

    source: int  # node
    type: int
    targets: tuple[tuple[int, int, int], ...] = ()
    rank: int = -1
    begins: bool = False
    ends: bool = False
    envelope: tuple[int, int] | None = None
    expects: int | None = None


@dataclass(frozen=True)
class Fragments(Vocabulary):
    """Packets hold the parts of a rank's messages, one message after the other, and may be for several nodes. What is
    sent again has its number.

    Attributes:
        see: a packet by its first words.
    """

    see: Callable[[Sequence[int]], SeenFragment]

    def text(self, words: Sequence[int]) -> str:
        if not words:
            return "packet"
        seen = self.see(words)
        rest = "".join(f"_to{node}_no{number}" for node, _, number in seen.targets)
        return f"{self.type_name(seen.type)}_from{seen.source}{rest}"


class SeenCommand(NamedTuple):
    """A packet, as read from its first words. `process`: whose command it is part of, by its number on the
    source; `owner`: whose memory it is about, by its number on the target. None if the packet does
    not say."""

    source: int  # node
    type: int
    process: int | None = None
    owner: int | None = None


class RecordPart(IntEnum):
    """The part that a record in a FIFO has in a message."""

    BEGINS = 1  # its first bytes are in the record, the others in the next ones
    WRITTEN = 2  # its bytes have been written to where a request said, or are all in the record
    RETURNED = 3  # one that came the other way is cancelled
    NONE = 4


class SeenRecord(NamedTuple):
    """A record by its first words. Messages with the same `context` and `tag` of the same two ranks
    are in the order of their sends. `length`: of the message; `size`: its bytes in the record;
    `number`: of a message that BEGINS or is RETURNED, among those of its sender to this peer; of the
    request that a WRITTEN one answers."""

    part: RecordPart
    context: int = 0
    tag: int = 0
    length: int = 0
    size: int = 0
    number: int = 0


class SeenRequest(NamedTuple):
    """A receive that waits, and where its memory is. `number`: among those of its rank to the peer."""

    number: int
    exposure: int
    key: int
    offset: int


@dataclass(frozen=True)
class Records:
    """The messages of a device that go through FIFOs, of which each rank has two for each peer.

    Attributes:
        holds: whether the FIFO at an offset is for messages of a rank, both as a packet has them.
        size: bytes that a record of so many bytes takes in its FIFO, behind so many others, by the plan of the node
            that has the FIFO. 0: not known.
        see: a record of it by the words that are known and its length, unless it goes on with a
            message.
        asks: the same of the other FIFO; None if a record at an offset of a rank is not in that.
    """

    holds: Callable[[int, int], bool]
    see: Callable[[Sequence[int], int], SeenRecord]
    asks: Callable[[Sequence[int], int, int], SeenRequest | None]
    size: Callable[[int, int, Mapping[str, Any]], int] = lambda behind, length, plan: 0


class ControlPart(IntEnum):
    """The part that a write to another rank's segment has in a message."""

    INSIDE = 1  # all its bytes are in it
    WRITTEN = 2  # all its bytes have been written before
    ASKS = 3  # it waits for ANSWERS
    ANSWERS = 4  # its bytes shall come, and PART will name the place
    PART = 5  # the next `length` bytes have been written before
    BYTES = 6  # of the message of the next WRITTEN or PART
    NONE = 7


class SeenControl(NamedTuple):
    """A write by its first words. `number`: of a message that ASKS, among its sender's. `place`: of
    one that the receiver ANSWERS, among its receiver's."""

    part: ControlPart
    context: int = 0
    tag: int = 0
    length: int = 0
    number: int = 0
    place: int = 0


@dataclass(frozen=True)
class Controls:
    """The messages of a device that go as writes to segments. Each rank has a part for each peer in its
    own.

    Attributes:
        see: a write by the words that are known, its offset, its length, the rank that writes, and
            the plan of the node.
    """

    see: Callable[[Sequence[int], int, int, int, Mapping[str, Any]], SeenControl]


@dataclass(frozen=True)
class Places:
    """The messages of a device that go as puts, whose places give them their meaning (`SeenPut`). A node has one rank.

    Attributes:
        see: a write by the words that are known, its exposure, its offset, its length, the node that writes, and
            the plan of the node.
    """

    see: Callable[[Sequence[int], int, int, int, int, Mapping[str, Any]], SeenPut]


@dataclass(frozen=True)
class Commands(Vocabulary):
    """Packets are requests and replies of adapters that no firmware has a part in. They say which
    process's command they serve.

    Attributes:
        see: a packet by its first words.
        describe: the same as text.
        messages: how the device's messages are known; None: not at all.
    """

    see: Callable[[Sequence[int]], SeenCommand]
    describe: Callable[[Sequence[int]], str]
    messages: Records | Controls | Places | None = None

    def text(self, words: Sequence[int]) -> str:
        return self.describe(words)
