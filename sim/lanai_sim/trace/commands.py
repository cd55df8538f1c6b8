"""What an adapter's packets are part of: the ranks at both ends of each, and the message, where the
vocabulary knows how the device's messages go (`records`, `controls`).

Requests from one rank to another are served in the order in which they leave, each once. What is
sent again has the same first words. A request that its reply refuses has no effect; the device
repeats a refused record as a request of its own. Replies belong to no message."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lanai_firmware.programs.vocabulary import Commands, Records
from lanai_hdl.remote.packets import REQUEST_WORDS, Op, ReplyWord, RequestWord, SizeWord, Status, TargetWord

from .controls import FollowControls
from .records import FollowRecords
from .requests import APPENDS, Book, Request
from .schema import Fault
from .stored import StoredTrace

AGAIN_WITHIN = 1024  # requests to a node: so much later equal words are those of another request
Words = Sequence[Sequence[int]]
Follow = FollowRecords | FollowControls


def attribute(trace: StoredTrace, vocabulary: Commands, messages: Any, packets: Any, headers: Any) -> None:
    """Type, ranks and message of each packet, in the order in which they left."""
    packets["from_rank"] = -1
    words = headers.tolist()
    for packet, first in zip(packets, words, strict=True):
        seen = vocabulary.see(first)
        packet["kind"], packet["channel"] = seen.type, max(seen.source, 0)
        packet["from_rank"] = _rank(trace, seen.source, seen.process)
        packet["to_rank"] = _rank(trace, int(packet["target"]), seen.owner)
    if vocabulary.messages is None:
        return
    book = Book(messages, packets)
    requests = list(_requests(packets, words))
    if isinstance(vocabulary.messages, Records):
        follow: Follow = FollowRecords(vocabulary.messages, book, [one for one, _ in requests])
    else:
        follow = FollowControls(vocabulary.messages, book, trace.meta["plans"])
    again = _serve(packets, words, requests, follow, book)
    for row, first in again:
        book.again(row, first)


def _rank(trace: StoredTrace, node: int, process: int | None) -> int:
    """Of a process of a node; of the only one, if `process` is None. -1 if it is not known."""
    ranks = trace.nodes[node] if 0 <= node < len(trace.nodes) else []
    if process is None and len(ranks) == 1:
        process = 0
    return ranks[process] if process is not None and process < len(ranks) else -1


def _requests(packets: Any, words: Words) -> Iterator[tuple[Request, int]]:
    """Requests that bear on messages, and their sequence numbers."""
    rows = np.flatnonzero(
        np.isin(packets["kind"], (Op.WRITE, *APPENDS))
        & (packets["from_rank"] >= 0)
        & (packets["to_rank"] >= 0)
        & (packets["fault"] != Fault.EXTRA)
    )
    for row in rows.tolist():
        packet, first = packets[row], words[row]
        word = RequestWord.from_bits(first[0])
        pair = int(packet["from_rank"]), int(packet["to_rank"])
        exposure, length = TargetWord.from_bits(first[1]).exposure, SizeWord.from_bits(first[2]).length
        data = tuple(first[REQUEST_WORDS : REQUEST_WORDS + -(-length // 4)])
        target = int(packet["target"])
        yield Request(row, int(word.op), pair, target, int(exposure), first[3], int(length), data), int(word.sequence)


def _serve(
    packets: Any,
    words: Words,
    requests: Sequence[tuple[Request, int]],
    follow: FollowRecords | FollowControls,
    book: Book,
) -> list[tuple[int, int]]:
    """Follow those that took effect. The rows that were sent again, each with the row of the first time."""
    replies = _Replies(packets, words)
    last: dict[tuple[int, int, int], tuple[int, int]] = {}  # row and count, by both nodes and sequence
    count: dict[tuple[int, int], int] = defaultdict(int)
    again: list[tuple[int, int]] = []
    for request, sequence in requests:
        packet = packets[request.row]
        nodes = int(packet["source"]), request.node
        count[nodes] += 1
        row, number = last.get((*nodes, sequence), (-1, 0))
        if row >= 0 and words[row] == words[request.row] and count[nodes] - number < AGAIN_WITHIN:
            again.append((request.row, row))
            continue
        last[*nodes, sequence] = request.row, count[nodes]
        if replies.status(packet, sequence) == Status.OK:
            follow.take(request)
        elif request.op in APPENDS:
            book.refuse(request)
    return again


class _Replies:
    """How requests ended, by both nodes and sequence number."""

    def __init__(self, packets: Any, words: Words) -> None:
        self._found: dict[tuple[int, int, int], deque[tuple[int, int]]] = defaultdict(deque)
        for packet, first in zip(packets, words, strict=True):
            if packet["kind"] == Op.ACK and packet["fault"] != Fault.EXTRA:
                key = int(packet["target"]), int(packet["source"]), int(RequestWord.from_bits(first[0]).sequence)
                self._found[key].append((int(packet["head"]), int(ReplyWord.from_bits(first[1]).status)))

    def status(self, packet: Any, sequence: int) -> int:
        """Of the request that this packet is; OK if the trace ends before its reply."""
        replies = self._found[int(packet["source"]), int(packet["target"]), sequence]
        while replies and replies[0][0] <= packet["head"]:
            replies.popleft()
        return replies[0][1] if replies else Status.OK
