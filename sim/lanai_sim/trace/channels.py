"""The message that each packet belongs to, where packets belong to channels and have types (`Channels`).

Envelopes carry their message's sequence in the channel. A PROMISE names a handle. The ASK for the body returns it and
names a receive entry, as an ACCEPT does, and the BODY comes to that entry. TAKEN and DROPPED answer the channel's last
UNPAID. Packets without a role belong to no message."""

from typing import Any

import numpy as np

from lanai_firmware.lang import sizeof
from lanai_firmware.lang.types import layout
from lanai_firmware.vocabulary import ENVELOPES, Channels, Credit, Fragments, Role, SeenFragment

from .requests import Book
from .schema import Fault, Protocol
from .stored import StoredTrace

# Counts of 16 bits in headers of channels: numbers of packets, by which those that are sent again are known, and
# message slots that are taken and given back.

HALF = 1 << 15  # a difference from here on is negative
COUNTS = 2 * HALF


def firsts(packets: Any, numbers: Any, numbered: Any) -> Any:
    """Return the row of the first packet of its pair with the same number, for each packet. They are in the order in
    which they left. One that is not `numbered` is the first."""
    found = np.arange(len(packets))
    rows: dict[tuple[int, int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    for row in np.flatnonzero(numbered).tolist():
        pair, number = (int(packets["from_rank"][row]), int(packets["to_rank"][row])), int(numbers[row])
        if (number - last.get(pair, number - 1) - 1) % COUNTS < HALF:
            last[pair] = number
            rows[*pair, number] = row
        found[row] = rows.get((*pair, number), row)
    return found


def slots(credit: Credit, packets: Any, words: Any, again: Any) -> None:
    """Fill in `paid` and `given` of packets. `words`: the member of each header. `again`: those that were sent
    before."""
    known = (packets["to_rank"] >= 0) & (packets["fault"] != Fault.EXTRA)
    known &= ~np.isin(packets["kind"], sorted(credit.silent))
    packets["paid"] = known & np.isin(packets["kind"], sorted(credit.pays)) & (packets["head"] >= 0) & ~again
    came = np.flatnonzero(known & (packets["arrival_head"] >= 0) & (packets["fault"] != Fault.DAMAGED))
    told: dict[tuple[int, int], int] = {}
    for row in came[np.argsort(packets["arrival_head"][came], kind="stable")].tolist():
        packet, given = packets[row], int(words[row])
        if credit.running:
            pair = int(packet["from_rank"]), int(packet["to_rank"])
            now = given >> 16
            given = (now - told.get(pair, 0)) % COUNTS
            if given < HALF:
                told[pair] = now
            else:  # the header of a packet that was sent again
                given = 0
        packet["given"] = given + (int(packet["kind"]) in credit.returns and not again[row])


PROTOCOLS = {
    Role.EAGER: Protocol.EAGER,
    Role.UNPAID: Protocol.UNPAID,
    Role.PROMISE: Protocol.RENDEZVOUS,
    Role.ACCEPT: Protocol.RENDEZVOUS,
}


def attribute_channels(trace: StoredTrace, vocabulary: Channels, messages: Any, packets: Any, headers: Any) -> None:
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
        first = firsts(packets, field(headers, header, vocabulary.numbering.member), numbered)
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
        slots(vocabulary.credit, packets, words, first != np.arange(len(packets)))


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


# The message that each packet belongs to, where daemons pass on the parts of messages (`Fragments`).
#
# Packets of a rank to another hold its messages one after the other. Numbers belong to a pair of nodes; a number that
# is not new is a packet that is sent again. A packet for several nodes has one row where it leaves, and one for each
# arrival. Acknowledgements belong to no message. They say which number a node expects next: the window of the pair has
# the numbers from there on.

NUMBERS = 1 << 16  # of packets, which wrap
BEHIND = 1 << 15  # a difference of numbers from here on is negative


def attribute_fragments(trace: StoredTrace, vocabulary: Fragments, messages: Any, packets: Any, headers: Any) -> None:
    """Fill in type, ranks and message of each packet, in the order in which they left."""
    follow = _FollowFragments(trace, messages, packets)
    packets["from_rank"] = -1
    for row, words in enumerate(headers.tolist()):
        seen = vocabulary.see(words)
        packet = packets[row]
        packet["kind"], packet["channel"], packet["from_rank"] = seen.type, seen.source, seen.rank
        if seen.targets:
            follow.packet(row, seen, tuple(words))
        elif seen.expects is not None:
            follow.acknowledged(row, seen.source, seen.expects)


class _FollowFragments:
    """The packets so far."""

    def __init__(self, trace: StoredTrace, messages: Any, packets: Any) -> None:
        self.nodes = trace.nodes
        self.messages = messages
        self.packets = packets
        self.book = Book(messages, packets)
        self.current: dict[tuple[int, int], int] = {}  # by pair of ranks: the message whose packets leave
        self.next: dict[tuple[int, int], int] = {}  # by pair of nodes: the number that is new next
        self.taken: dict[tuple[int, int], int] = {}  # ... that the other node has said to expect
        self.several: dict[tuple[int, ...], int] = {}  # by first words: the row of a packet for several nodes
        self.known: dict[tuple[int, int, int], int] = {}  # by pair of nodes and number: the message

    def packet(self, row: int, seen: SeenFragment, words: tuple[int, ...]) -> None:
        """Take the next packet, or the arrival of one for several nodes."""
        arrives, leaves = int(self.packets["target"][row]), self.packets["head"][row] >= 0
        if leaves and arrives < 0:
            self.several[words] = row
        for node, clients, number in seen.targets:
            if leaves and (arrives < 0 or node == arrives):
                self._left(row, seen, node, clients, number)
        if not leaves and words in self.several:
            self._arrived(row, seen, arrives, self.several[words])

    def acknowledged(self, row: int, source: int, expects: int) -> None:
        """A node has all packets before a number. One that says less has been overtaken."""
        pair = int(self.packets["target"][row]), source
        if pair not in self.next or self.packets["arrival_tail"][row] < 0 or self.packets["fault"][row]:
            return
        given = (expects - self.taken[pair]) % NUMBERS
        if given <= (self.next[pair] - self.taken[pair]) % NUMBERS:
            self.packets["given"][row], self.taken[pair] = given, expects

    def _left(self, row: int, seen: SeenFragment, node: int, clients: int, number: int) -> None:
        """A packet has left for a node, perhaps among others."""
        pair, ranks = (seen.source, node), self._ranks(node, clients)
        self.taken.setdefault(pair, number)
        ahead = (number - self.next.get(pair, number)) % NUMBERS
        if ahead < BEHIND:
            self.packets["paid"][row] += ahead + 1
            self.next[pair] = (number + 1) % NUMBERS
            self.known[(*pair, number)] = self._new(seen, ranks)
        self._give(row, self.known.get((*pair, number), -1), ranks)

    def _arrived(self, row: int, seen: SeenFragment, arrives: int, sent: int) -> None:
        """A packet for several nodes has arrived at one. Its first words may not reach to that one's number."""
        self.packets["fault"][[row, sent]] = Fault.NONE
        for node, clients, number in seen.targets:
            if node == arrives:
                self._give(row, self.known.get((seen.source, node, number), -1), self._ranks(node, clients))

    def _ranks(self, node: int, clients: int) -> list[int]:
        here = self.nodes[node] if 0 <= node < len(self.nodes) else []
        return [rank for client, rank in enumerate(here) if clients >> client & 1]

    def _new(self, seen: SeenFragment, ranks: list[int]) -> int:
        """Return the message that a packet belongs to, of the first of the ranks that it is for."""
        if not ranks:
            return -1
        pair = seen.rank, ranks[0]
        if seen.begins:
            found = -1
            if seen.envelope is not None:
                found = self.book.next(pair, *seen.envelope, Protocol.PACKETS)
            self.current[pair] = found
        found = self.current.get(pair, -1)
        if seen.ends:
            self.current.pop(pair, None)
        return found

    def _give(self, row: int, message: int, ranks: list[int]) -> None:
        """Note the message of a packet, when the message left, and when all of it had arrived."""
        packet = self.packets[row]
        packet["to_rank"] = ranks[0] if ranks else -1
        packet["message"] = message
        if message < 0:
            return
        row_of = self.messages[message]
        if packet["head"] >= 0 and row_of["left"] < 0:
            row_of["left"] = packet["head"]
        row_of["arrived"] = max(row_of["arrived"], packet["arrival_tail"])
