"""Packets that belong to channels: each has a type, which gives it a role in a message."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from .base import Vocabulary


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
