"""The base of all vocabularies: header and types of packets, and the memory that belongs to messages."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from ..lang.types import layout, sizeof


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
