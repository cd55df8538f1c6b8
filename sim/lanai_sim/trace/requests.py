"""Requests of adapters, and which of them are part of which message."""

from collections import Counter, defaultdict, deque
from typing import Any, NamedTuple

from lanai_firmware.vocabulary import Part, Puts, SeenPut
from lanai_hdl.remote.packets import Op
from lanai_host.abi.observe import MODES
from lanai_host.device import SendMode

from .schema import Fault, Protocol
from .stored import StoredTrace

APPENDS = (Op.APPEND, Op.RETRY, Op.QUIET)
Pair = tuple[int, int]  # the rank that asks, and the one whose memory it is


class Request(NamedTuple):
    """A request that both its ends are known of. `row`: of the table of packets; `data`: as far as
    it is known; `taken`: it had its effect."""

    row: int
    op: int
    pair: Pair
    node: int
    exposure: int
    key: int
    offset: int
    length: int
    data: tuple[int, ...]
    taken: bool = True


class Book:
    """The messages of a run that are known so far, and the packets that they are made of."""

    def __init__(self, messages: Any, packets: Any) -> None:
        self._messages = messages
        self._packets = packets
        self._sent: dict[tuple[int, int, int, int], deque[int]] = defaultdict(deque)  # by pair, context and tag
        for one in messages[["source", "target", "context", "tag", "id"]]:
            source, target, context, tag, number = (int(value) for value in one)
            self._sent[source, target, context, tag].append(number)
        self._refused: dict[tuple[Pair, int, tuple[int, ...]], list[int]] = defaultdict(list)  # rows

    def next(self, pair: Pair, context: int, tag: int, protocol: Protocol) -> int:
        """The next message of these, which goes by `protocol`; -1 if there is none."""
        waiting = self._sent[*pair, context, tag]
        if not waiting:
            return -1
        message = waiting.popleft()
        self._messages["protocol"][message] = protocol
        return message

    def give(self, request: Request, message: int) -> None:
        """The request is a part of the message, as are those like it that were refused before."""
        refused = self._refused.pop((request.pair, request.length, request.data), ())
        if message < 0:
            return
        for row in [*refused, request.row]:
            self._packets["message"][row] = message
            left, head = self._messages["left"], self._packets["head"][row]
            left[message] = head if left[message] < 0 else min(left[message], head)
        self._arrived(request.row, message)

    def room(self, row: int, paid: int, given: int = 0) -> None:
        """The packet takes room at its receiver, or gives room back."""
        self._packets["paid"][row], self._packets["given"][row] = paid, given

    def refuse(self, request: Request) -> None:
        """The request has had no effect, and comes again as another one."""
        self._refused[request.pair, request.length, request.data].append(request.row)

    def again(self, row: int, first: int) -> None:
        """The packet is the one of another row, sent again."""
        message = int(self._packets["message"][first])
        self._packets["message"][row] = message
        if message >= 0:
            self._arrived(row, message)

    def _arrived(self, row: int, message: int) -> None:
        if self._packets["to_rank"][row] != self._messages["target"][message]:  # an answer of the receiver
            return
        arrived = self._messages["arrived"]
        arrived[message] = max(arrived[message], self._packets["arrival_tail"][row])


# The message that each put belongs to, where messages are matched on hosts and NICs only move bytes.
#
# A rank has a slot for each peer and takes its messages one by one, so the n-th header that it gets
# from a peer is that of the peer's n-th message. A receiver answers the headers of long messages in
# their order. It names a place for the first of their bytes, by which they are known.

PROTOCOLS = {
    (Part.SHORT, False): Protocol.SHORT,
    (Part.SHORT, True): Protocol.SHORT_SYNCHRONOUS,
    (Part.LONG, False): Protocol.LONG,
    (Part.LONG, True): Protocol.LONG_SYNCHRONOUS,
}


def attribute(trace: StoredTrace, vocabulary: Puts, messages: Any, packets: Any, headers: Any) -> None:
    """The ranks at both ends, the type, and the message of each packet, in the order in which they
    left."""
    follow = FollowPuts(trace, messages)
    plans = trace.meta["plans"]
    for packet, words in zip(packets, headers.tolist(), strict=True):
        target = int(packet["target"])
        if not 0 <= target < len(trace.nodes) or packet["fault"] == Fault.EXTRA:
            continue
        seen = vocabulary.see(words, plans[target])
        packet["kind"], packet["channel"], packet["to_rank"] = seen.type, seen.source, target
        packet["from_rank"] = seen.source
        packet["message"] = follow.message(packet, seen, target)
        packet["paid"], packet["given"] = room(seen)


def room(put: SeenPut) -> tuple[int, int]:
    """Return the message slots that a put takes, and those that it gives back."""
    return int(put.part in (Part.SHORT, Part.LONG)), int(put.part is Part.FREED)


class FollowPuts:
    """The state of the puts so far. A node has one rank, with its number."""

    def __init__(self, trace: StoredTrace, messages: Any) -> None:
        self.messages = messages
        self.known = {
            (int(one["source"]), int(one["target"]), int(one["sequence"])): int(one["id"])
            for one in messages[["source", "target", "sequence", "id"]]
        }
        modes = trace.stored(b"RQST")["mode"]
        self.synchronous = [bool(mode == MODES[SendMode.SYNCHRONOUS]) for mode in modes[messages["send_request"]]]
        self.begun: Counter[tuple[int, int]] = Counter()  # messages, by pair
        self.long: set[tuple[int, int]] = set()  # pairs whose next header is that of a long message
        self.last: dict[tuple[int, int], int] = {}
        self.announced: dict[tuple[int, int], deque[int]] = defaultdict(deque)
        self.answered: dict[tuple[int, int], int] = {}  # by sender and number of the reply
        self.places: dict[tuple[int, int, int], int] = {}  # by pair and where the first bytes go
        self.current: dict[tuple[int, int], int] = {}  # the message whose bytes a pair's puts are
        self.left: dict[int, int] = {}  # bytes that have not left

    def message(self, packet: Any, put: SeenPut, target: int) -> int:
        pair = put.source, target
        match put.part:
            case Part.SHORT | Part.LONG:
                return self._begin(packet, put.part, pair)
            case Part.REPLY:
                return self._reply(put, target)
            case Part.BYTES:
                return self._bytes(packet, put, pair)
            case Part.ARRIVED:
                return self.current.pop(pair, -1)
            case Part.FREED:
                return self.last.get((target, put.source), -1)
            case Part.REST if put.reply >= 0:
                return self.answered.get((target, put.reply), -1)
            case Part.REST:
                if put.announces:
                    self.long.add(pair)
                return self.known.get((*pair, self.begun[pair]), -1)
        return -1

    def _begin(self, packet: Any, part: Part, pair: tuple[int, int]) -> int:
        found = self.known.get((*pair, self.begun[pair]), -1)
        if pair in self.long:
            self.long.discard(pair)
            part = Part.LONG
        self.begun[pair] += 1
        self.last[pair] = found
        if found < 0:
            return -1
        row = self.messages[found]
        row["left"] = packet["head"] if row["left"] < 0 else min(row["left"], packet["head"])
        row["protocol"] = PROTOCOLS[part, self.synchronous[found]]
        if part is Part.LONG:
            self.announced[pair].append(found)
            self.left[found] = int(row["bytes"])
        else:
            row["arrived"] = packet["arrival_tail"]
        return found

    def _reply(self, put: SeenPut, target: int) -> int:
        """To the oldest message without an answer, unless an answered one still has bytes."""
        key, pair = (target, put.reply), (target, put.source)
        found = self.answered.get(key, -1)
        if self.left.get(found, 0) <= 0:
            waiting = self.announced[pair]
            found = waiting.popleft() if waiting else -1
            self.answered[key] = found
        if put.first is not None:
            self.places[*pair, put.first] = found
        return found

    def _bytes(self, packet: Any, put: SeenPut, pair: tuple[int, int]) -> int:
        """Return the message that these bytes belong to, or -1. Bytes to a place that was not asked for
        report to a sender that its message has met a receive."""
        found = self.places.pop((*pair, put.address), self.current.get(pair, -1))
        if found < 0:
            return -1
        self.current[pair] = found
        self.left[found] -= put.length
        self.messages["arrived"][found] = max(self.messages["arrived"][found], packet["arrival_tail"])
        return found
