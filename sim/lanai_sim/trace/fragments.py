"""The message that each packet belongs to, where daemons pass on the parts of messages (`Fragments`).

Packets of a rank to another hold its messages one after the other. Numbers belong to a pair of nodes; a number that
is not new is a packet that is sent again. A packet for several nodes has one row where it leaves, and one for each
arrival. Acknowledgements belong to no message. They say which number a node expects next: the window of the pair has
the numbers from there on."""

from typing import Any

from lanai_firmware.vocabulary import Fragments, SeenFragment

from .requests import Book
from .schema import Fault, Protocol
from .stored import StoredTrace

NUMBERS = 1 << 16  # of packets, which wrap
BEHIND = 1 << 15  # a difference of numbers from here on is negative


def attribute(trace: StoredTrace, vocabulary: Fragments, messages: Any, packets: Any, headers: Any) -> None:
    """Fill in type, ranks and message of each packet, in the order in which they left."""
    follow = _Follow(trace, messages, packets)
    packets["from_rank"] = -1
    for row, words in enumerate(headers.tolist()):
        seen = vocabulary.see(words)
        packet = packets[row]
        packet["kind"], packet["channel"], packet["from_rank"] = seen.type, seen.source, seen.rank
        if seen.targets:
            follow.packet(row, seen, tuple(words))
        elif seen.expects is not None:
            follow.acknowledged(row, seen.source, seen.expects)


class _Follow:
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
