"""The message that each packet belongs to, where packets belong to channels and have types (`Channels`).

Envelopes carry their message's sequence in the channel. A PROMISE names a handle. The ASK for the body returns it and
names a receive entry, as an ACCEPT does, and the BODY comes to that entry. TAKEN and DROPPED answer the channel's last
UNPAID. Packets without a role belong to no message."""

from typing import Any

import numpy as np

from lanai_firmware.lang import sizeof
from lanai_firmware.lang.types import layout
from lanai_firmware.vocabulary import ENVELOPES, Channels, Role

from . import counts
from .schema import Fault, Protocol
from .stored import StoredTrace

PROTOCOLS = {
    Role.EAGER: Protocol.EAGER,
    Role.UNPAID: Protocol.UNPAID,
    Role.PROMISE: Protocol.RENDEZVOUS,
    Role.ACCEPT: Protocol.RENDEZVOUS,
}


def attribute(trace: StoredTrace, vocabulary: Channels, messages: Any, packets: Any, headers: Any) -> None:
    """Fill in type, ranks, message and credit of each packet, in the order in which they left."""
    header = vocabulary.header
    packets["kind"], packets["channel"] = field(headers, header, "type"), field(headers, header, "channel")
    packets["kind"][packets["bytes"] < (vocabulary.shortest or int(sizeof(header)))] = 0
    packets["from_rank"] = packets["channel"] % max(trace.ranks, 1)
    _to_ranks(trace, packets)
    known = {
        (int(m["source"]), int(m["target"]), int(m["sequence"])): int(m["id"])
        for m in messages[["source", "target", "sequence", "id"]]
    }
    numbered = _numbered(trace, vocabulary, packets)
    first = np.arange(len(packets))
    if vocabulary.numbering is not None and numbered.any():
        first = counts.firsts(packets, field(headers, header, vocabulary.numbering.member), numbered)
    names = ("tag", "sequence", "handle")
    rows = zip(first.tolist(), *(field(headers, header, name).tolist() for name in names), strict=True)
    follow = _Follow(trace, messages, known, counted=bool(numbered.any()))
    for row, (before, tag, sequence, handle) in enumerate(rows):
        role = vocabulary.roles.get(int(packets["kind"][row]))
        if packets["to_rank"][row] < 0 or role is None:
            continue
        if before == row:
            packets["message"][row] = follow.message(packets[row], role, tag, sequence, handle)
        else:
            packets["message"][row] = packets["message"][before]
            follow.arrive(packets[row], role, int(packets["message"][row]))
    if vocabulary.credit is not None:
        words = field(headers, header, vocabulary.credit.member)
        counts.slots(vocabulary.credit, packets, words, first != np.arange(len(packets)))


def _to_ranks(trace: StoredTrace, packets: Any) -> None:
    """Fill in the rank that each packet is for."""
    for packet in packets:
        target, local_rank = int(packet["target"]), int(packet["channel"]) // max(trace.ranks, 1)
        ranks = trace.nodes[target] if 0 <= target < len(trace.nodes) else []
        if local_rank < len(ranks) and (packet["fault"] != Fault.EXTRA or packet["kind"]):
            packet["to_rank"] = ranks[local_rank]


def _numbered(trace: StoredTrace, vocabulary: Channels, packets: Any) -> Any:
    """Say of each packet whether its number counts."""
    numbering = vocabulary.numbering
    if numbering is None or not any(map(numbering.enabled, trace.meta["plans"])):
        return np.zeros(len(packets), bool)
    return (packets["to_rank"] >= 0) & ~np.isin(packets["kind"], sorted(numbering.without))


def field(headers: Any, struct: type, name: str) -> Any:
    """A member of the struct at the beginning of each packet, of many packets."""
    member = layout(struct).fields[name]
    at, size = member.offset, int(sizeof(member.kind))
    words = headers[:, at // 4].astype(np.int64)
    return words >> (32 - 8 * (at % 4 + size)) & ((1 << 8 * size) - 1)


class _Follow:
    """The state of the protocol so far. `counted`: envelopes do not tell their sequence, and each that leaves is the
    next one of its pair."""

    def __init__(
        self, trace: StoredTrace, messages: Any, known: dict[tuple[int, int, int], int], *, counted: bool
    ) -> None:
        self.counted = counted
        self.node_of = trace.node_of
        self.messages = messages
        self.known = known
        self.last: dict[tuple[int, int], int] = {}  # sequence of a pair's last envelope
        self.promised: dict[tuple[int, int, int], int] = {}  # (sender, receiver, handle)
        self.asked: dict[tuple[int, int], int] = {}  # (receiver's node, its receive entry)
        self.unpaid: dict[tuple[int, int], int] = {}

    def message(self, packet: Any, role: Role, tag: int, sequence: int, handle: int) -> int:
        pair = (int(packet["from_rank"]), int(packet["to_rank"]))
        back = pair[1], pair[0]
        found = -1
        if role in ENVELOPES:
            found = self._envelope(packet, role, pair, sequence, handle)
        elif role == Role.ASK:
            found = self.promised.get((*back, handle), -1)
            self.asked[self.node_of(pair[0]), tag] = found
        elif role == Role.BODY:
            found = self.asked.get((int(packet["target"]), tag), -1)
        else:
            found = self.unpaid.get(back, -1)
            if role == Role.DROPPED and back in self.last:
                self.last[back] -= 1
        self.arrive(packet, role, found)
        return found

    def arrive(self, packet: Any, role: Role, message: int) -> None:
        """A packet of the message has arrived, if it did."""
        if message >= 0 and (role in ENVELOPES or role == Role.BODY):
            self.messages["arrived"][message] = max(self.messages["arrived"][message], packet["arrival_tail"])

    def _envelope(self, packet: Any, role: Role, pair: tuple[int, int], sequence: int, handle: int) -> int:
        last = self.last.get(pair, -1)
        full = last + 1
        if not self.counted:
            full += ((sequence - last - 1 + 0x8000) & 0xFFFF) - 0x8000  # the nearest to the one expected
        self.last[pair] = max(last, full)
        found = self.known.get((*pair, full), -1)
        if found < 0:
            return -1
        message = self.messages[found]
        if message["left"] < 0 and packet["head"] >= 0:
            message["left"] = packet["head"]
        message["protocol"] = PROTOCOLS[role]
        if role == Role.PROMISE:
            self.promised[(*pair, handle)] = found
        elif role == Role.ACCEPT:
            self.asked[self.node_of(pair[1]), handle] = found
        elif role == Role.UNPAID:
            self.unpaid[pair] = found
        return found
