"""Packets that put bytes to places in the memory of other nodes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from ..lang.types import layout
from .base import Vocabulary


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
