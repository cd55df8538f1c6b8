"""How a trace reads a firmware: its packets' header and types, and which memory belongs to which
message.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Role(IntEnum):
    """What a packet says of a message. Handles and receive entries are numbers that the header
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
    """What the firmware began to deal with: the first word that it read of another thing of
    these."""

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
    """Which packets the firmware may pass on to the host while they arrive."""

    types: frozenset[int]
    first_look: int  # bytes of a packet that have come when the firmware looks at it
    enabled: Callable[[Mapping[str, Any]], bool]  # by a NIC's plan


@dataclass(frozen=True)
class Vocabulary:
    """One firmware's.

    Attributes:
        header: the struct at the beginning of each packet. It has the members type, channel, tag,
            length, sequence and handle.
        types: packet types by name.
        roles: by type. Packets of other types belong to no message.
        tables: those of a NIC, by its plan, which is one of `NicStack.plans`.
        bodies: SRAM that holds bodies of messages, by the plan. It may be damaged: what is not in
            it counts as nothing.
        spilled: bus addresses of host memory in which the NIC leaves messages, by the plan. It is
            no rank's.
        cut_through: None if packets are always whole before they go on.
        scheduler: module in which the processor works for no message.
        slots: request slots of an endpoint.
        sends: operation codes of requests that send.
        receives: ... that post a receive for a message to come.
    """

    header: type
    types: type[IntEnum]
    roles: Mapping[int, Role]
    tables: Callable[[Mapping[str, Any]], Sequence[Table]]
    bodies: Callable[[Mapping[str, Any]], range]
    spilled: Callable[[Mapping[str, Any]], range]
    cut_through: CutThrough | None
    scheduler: str
    slots: int
    sends: tuple[int, ...]
    receives: tuple[int, ...]
