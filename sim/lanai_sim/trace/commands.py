"""The ranks at both ends of an adapter's packets, and their messages, where the vocabulary knows how the
device's messages go (see `records`, `controls`, `places`).

Requests from one rank to another are served in the order in which they leave, each once. What is
sent again has the same first words. A request that its reply refuses has no effect; the device
repeats a refused record as a request of its own. Replies belong to no message."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lanai_firmware.vocabulary import Commands, Places, Records
from lanai_hdl.remote.packets import REQUEST_WORDS, Op, ReplyWord, RequestWord, SizeWord, Status, TargetWord

from .controls import FollowControls
from .places import FollowPlaces
from .puts import FollowPuts
from .records import FollowRecords
from .requests import APPENDS, Book, Request
from .schema import Fault
from .stored import StoredTrace

AGAIN_WITHIN = 1024  # requests to a node: so much later equal words are those of another request
Words = Sequence[Sequence[int]]
Number = tuple[int, int]  # of a request to a NIC: its session and sequence number


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
    requests, again = _served(packets, words)
    if isinstance(vocabulary.messages, Records):
        FollowRecords(vocabulary.messages, book, trace.meta["plans"]).run(requests)
    elif isinstance(vocabulary.messages, Places):
        puts = FollowPuts(trace, messages)
        FollowPlaces(vocabulary.messages, book, puts, packets, trace.meta["plans"]).run(requests)
    else:
        FollowControls(vocabulary.messages, book, trace.meta["plans"]).run(requests)
    for row, first in again:
        book.again(row, first)
    _move_room(vocabulary, packets, requests, again)


def _rank(trace: StoredTrace, node: int, process: int | None) -> int:
    """Return the rank of a process of a node; of the only one, if `process` is None. -1 if it is not known."""
    ranks = trace.nodes[node] if 0 <= node < len(trace.nodes) else []
    if process is None and len(ranks) == 1:
        process = 0
    return ranks[process] if process is not None and process < len(ranks) else -1


def _requests(packets: Any, words: Words) -> Iterator[tuple[Request, Number]]:
    """Requests that bear on messages, and their numbers."""
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
        place, length = TargetWord.from_bits(first[1]), int(SizeWord.from_bits(first[2]).length)
        data = tuple(first[REQUEST_WORDS : REQUEST_WORDS + -(-length // 4)])
        where = int(packet["target"]), int(place.exposure), int(place.key), first[3]
        yield Request(row, int(word.op), pair, *where, length, data), (int(place.session), int(word.sequence))


def _served(packets: Any, words: Words) -> tuple[list[Request], list[tuple[int, int]]]:
    """Each request once. Rows that were sent again, each with that of the first time."""
    replies = _Replies(packets, words)
    last: dict[tuple[int, int, Number], tuple[int, int]] = {}  # row and count, by both nodes and number
    count: dict[tuple[int, int], int] = defaultdict(int)
    served: list[Request] = []
    again: list[tuple[int, int]] = []
    for request, asked in _requests(packets, words):
        packet = packets[request.row]
        nodes = int(packet["source"]), request.node
        count[nodes] += 1
        row, number = last.get((*nodes, asked), (-1, 0))
        if row >= 0 and words[row] == words[request.row] and count[nodes] - number < AGAIN_WITHIN:
            again.append((request.row, row))
            continue
        last[*nodes, asked] = request.row, count[nodes]
        served.append(request._replace(taken=replies.status(packet, asked) == Status.OK))
    return served, again


def _move_room(
    vocabulary: Commands, packets: Any, requests: Sequence[Request], again: Sequence[tuple[int, int]]
) -> None:
    """Let each request take and give back room by the packet that was served: the first one that arrived after those
    before it were served."""
    copies: dict[int, list[int]] = defaultdict(list)
    for row, first in again:
        copies[first].append(row)
    moving = ("paid", "given") if vocabulary.rooms and vocabulary.rooms[0].from_arrival else ("given",)
    last: dict[tuple[int, int], int] = defaultdict(int)
    for request in requests:
        nodes = int(packets["source"][request.row]), request.node
        for row in (request.row, *copies[request.row]):
            if packets["fault"][row] == Fault.NONE and packets["arrival_tail"][row] >= last[nodes]:
                last[nodes] = int(packets["arrival_tail"][row])
                for column in moving if row != request.row else ():
                    packets[column][row], packets[column][request.row] = packets[column][request.row], 0
                break


class _Replies:
    """The ends of requests, by both nodes and number."""

    def __init__(self, packets: Any, words: Words) -> None:
        self._found: dict[tuple[int, int, Number], deque[tuple[int, int]]] = defaultdict(deque)
        for packet, first in zip(packets, words, strict=True):
            if packet["kind"] == Op.ACK and packet["fault"] != Fault.EXTRA:
                answer = ReplyWord.from_bits(first[1])
                number = int(answer.session), int(RequestWord.from_bits(first[0]).sequence)
                found = self._found[int(packet["target"]), int(packet["source"]), number]
                found.append((int(packet["head"]), int(answer.status)))

    def status(self, packet: Any, number: Number) -> int:
        """Return the status in the reply to this packet, a request; OK if the trace ends before its reply."""
        replies = self._found[int(packet["source"]), int(packet["target"]), number]
        while replies and replies[0][0] <= packet["head"]:
            replies.popleft()
        return replies[0][1] if replies else Status.OK
