"""What an adapter's packets are part of: the ranks at both ends of each, and the message where the
device's records tell it (`Records`).

Requests from one rank to another are served in the order in which they leave, each once. What is
sent again has the same first words. A request that its reply refuses has no effect; the device
repeats a refused record as a request of its own. A message that is written leaves as writes of as
many bytes as it has, before the record that says so. Replies belong to no message, and neither does
anything where a packet does not name both ranks, as a node has several."""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lanai_firmware.programs.vocabulary import Commands, RecordPart, Records
from lanai_hdl.remote.packets import REQUEST_WORDS, Op, ReplyWord, RequestWord, SizeWord, Status, TargetWord

from .schema import Fault, Protocol
from .stored import StoredTrace

APPENDS = (Op.APPEND, Op.RETRY)
AGAIN_WITHIN = 1024  # requests to a node: so much later equal words are those of another request


class Request(NamedTuple):
    """A request that both its ends are known of. `row`: of the table of packets."""

    row: int
    op: int
    pair: tuple[int, int]
    exposure: int
    offset: int
    length: int
    data: tuple[int, ...]  # as far as it is known


def attribute(trace: StoredTrace, vocabulary: Commands, messages: Any, packets: Any, headers: Any) -> None:
    """Type, ranks and message of each packet, in the order in which they left."""
    packets["from_rank"] = -1
    words = headers.tolist()
    for packet, first in zip(packets, words, strict=True):
        seen = vocabulary.see(first)
        packet["kind"], packet["channel"] = seen.type, max(seen.source, 0)
        packet["from_rank"] = _rank(trace, seen.source, seen.process)
        packet["to_rank"] = _rank(trace, int(packet["target"]), None)
    if vocabulary.records is not None:
        _Follow(vocabulary.records, messages, packets, words).run()


def _rank(trace: StoredTrace, node: int, process: int | None) -> int:
    """Of a process of a node; of the only one, if `process` is None. -1 if it is not known."""
    ranks = trace.nodes[node] if 0 <= node < len(trace.nodes) else []
    if process is None and len(ranks) == 1:
        process = 0
    return ranks[process] if process is not None and process < len(ranks) else -1


class _Replies:
    """How requests ended, by both nodes and sequence number."""

    def __init__(self, packets: Any, words: Sequence[Sequence[int]]) -> None:
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


class _Follow:
    """What has been written and appended so far."""

    def __init__(self, records: Records, messages: Any, packets: Any, words: Sequence[Sequence[int]]) -> None:
        self.records = records
        self.messages = messages
        self.packets = packets
        self.words = words
        self.sent: dict[tuple[int, int, int, int], deque[int]] = defaultdict(deque)  # by pair, context and tag
        for one in messages[["source", "target", "context", "tag", "id"]]:
            *key, number = (int(value) for value in one)
            self.sent[*key].append(number)  # type: ignore[index]
        self.queues: set[tuple[int, int]] = set()  # exposures that hold FIFOs, by rank
        self.current: dict[tuple[int, int], int] = {}  # the message that a pair's next record goes on with
        self.left: dict[tuple[int, int], int] = defaultdict(int)  # its bytes that have not been appended
        self.written: dict[tuple[int, int], deque[Request]] = defaultdict(deque)  # of no message yet, by pair
        self.refused: dict[tuple[Any, ...], list[int]] = defaultdict(list)  # rows, by what will come again

    def run(self) -> None:
        replies = _Replies(self.packets, self.words)
        requests = list(self._requests())
        self.queues = {(request.pair[1], request.exposure) for request, _ in requests if request.op in APPENDS}
        last: dict[tuple[int, int, int], tuple[int, int]] = {}  # row and count, by both nodes and sequence
        count: dict[tuple[int, int], int] = defaultdict(int)
        again: list[tuple[int, int]] = []
        for request, sequence in requests:
            packet = self.packets[request.row]
            nodes = int(packet["source"]), int(packet["target"])
            count[nodes] += 1
            row, number = last.get((*nodes, sequence), (-1, 0))
            if row >= 0 and self.words[row] == self.words[request.row] and count[nodes] - number < AGAIN_WITHIN:
                again.append((request.row, row))
                continue
            last[*nodes, sequence] = request.row, count[nodes]
            if replies.status(packet, sequence) == Status.OK:
                self._take(request)
            elif request.op in APPENDS:
                self.refused[request.pair, request.length, request.data].append(request.row)
        for row, first in again:
            self.packets["message"][row] = self.packets["message"][first]
            self._arrived(int(self.packets["message"][first]), row)

    def _requests(self) -> Any:
        """Requests that bear on messages, and their sequence numbers."""
        rows = np.flatnonzero(
            np.isin(self.packets["kind"], (Op.WRITE, *APPENDS))
            & (self.packets["from_rank"] >= 0)
            & (self.packets["to_rank"] >= 0)
            & (self.packets["fault"] != Fault.EXTRA)
        )
        for row in rows.tolist():
            packet, words = self.packets[row], self.words[row]
            first = RequestWord.from_bits(words[0])
            pair = int(packet["from_rank"]), int(packet["to_rank"])
            exposure, length = TargetWord.from_bits(words[1]).exposure, SizeWord.from_bits(words[2]).length
            data = tuple(words[REQUEST_WORDS : REQUEST_WORDS + length // 4])
            request = Request(row, int(first.op), pair, int(exposure), words[3], int(length), data)
            yield request, int(first.sequence)

    def _take(self, request: Request) -> None:
        """The request has had its effect."""
        pair = request.pair
        if request.op == Op.WRITE:
            if (pair[1], request.exposure) not in self.queues:
                self.written[pair].append(request)
        elif not self.records.holds(request.offset, pair[0]):
            return
        elif self.left[pair] > 0:
            self.left[pair] -= request.length
            self._give(request, self.current[pair])
        else:
            self._begin(request)

    def _begin(self, request: Request) -> None:
        pair = request.pair
        record = self.records.see(request.data, request.length)
        waiting = self.sent[(*pair, record.context, record.tag)]
        if record.part is RecordPart.NONE or not waiting:
            return
        message = waiting.popleft()
        size = int(self.messages["bytes"][message])
        if record.part is RecordPart.BEGINS:
            self.messages["protocol"][message] = Protocol.FIFO
            self.current[pair], self.left[pair] = message, size - record.size
        else:
            self.messages["protocol"][message] = Protocol.REMOTE_WRITE
            missing = size - record.size
            while missing > 0 and self.written[pair]:
                write = self.written[pair].popleft()
                missing -= write.length
                self._give(write, message)
        self._give(request, message)

    def _give(self, request: Request, message: int) -> None:
        """The request is a part of the message, and so are those like it that were refused before."""
        key = request.pair, request.length, request.data
        for row in [*self.refused.pop(key, ()), request.row]:
            self.packets["message"][row] = message
            left = self.messages["left"][message]
            head = self.packets["head"][row]
            self.messages["left"][message] = head if left < 0 else min(left, head)
        self._arrived(message, request.row)

    def _arrived(self, message: int, row: int) -> None:
        if message >= 0:
            arrived = self.messages["arrived"]
            arrived[message] = max(arrived[message], self.packets["arrival_tail"][row])
