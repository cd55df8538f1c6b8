"""The ranks at both ends of an adapter's packets, and their messages, where the vocabulary knows how the
device's messages go (see `records`, `controls`, `places`).

Requests from one rank to another are served in the order in which they leave, each once. What is
sent again has the same first words. A request that its reply refuses has no effect; the device
repeats a refused record as a request of its own. Replies belong to no message."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lanai_firmware.vocabulary import (
    Commands,
    ControlPart,
    Controls,
    Places,
    RecordPart,
    Records,
    SeenRecord,
    SeenRequest,
    SeenSend,
    Sends,
)
from lanai_hdl.remote.packets import REQUEST_WORDS, Op, ReplyWord, RequestWord, SizeWord, Status, TargetWord
from lanai_hdl.remote.tables import EXPOSURES

from .requests import APPENDS, Book, FollowPuts, Pair, Request, room
from .schema import Fault, Protocol
from .stored import StoredTrace

# Messages of a device whose ranks write bytes and control packets to each other's segments
# (`Controls`). Bytes are written before the control packet that announces them, and control packets
# do not overtake each other.

SEGMENT = 0  # a rank's exposure that is its segment


class FollowControls:
    """The state of the writes so far. `plans`: what is known of each node's segments."""

    def __init__(self, controls: Controls, book: Book, plans: Sequence[Mapping[str, Any]]) -> None:
        self._controls = controls
        self._book = book
        self._plans = plans
        self._written: dict[Pair, deque[Request]] = defaultdict(deque)  # of no message yet
        self._asked: dict[tuple[int, int], int] = {}  # messages by sender and number
        self._placed: dict[tuple[int, int], int] = {}  # ... by receiver and place

    def run(self, requests: Iterable[Request]) -> None:
        """All requests of the run, in the order in which they left."""
        for request in requests:
            if request.taken and request.op == Op.WRITE and request.exposure % EXPOSURES == SEGMENT:
                self._take(request)

    def _take(self, request: Request) -> None:
        sender, receiver = pair = request.pair
        control = self._controls.see(request.data, request.offset, request.length, sender, self._plans[request.node])
        message = -1
        match control.part:
            case ControlPart.BYTES:
                self._written[pair].append(request)
                return
            case ControlPart.INSIDE:
                message = self._book.next(pair, control.context, control.tag, Protocol.INLINE)
            case ControlPart.WRITTEN:
                message = self._book.next(pair, control.context, control.tag, Protocol.SLOT)
                self._bytes(pair, control.length, message)
            case ControlPart.ASKS:
                message = self._book.next(pair, control.context, control.tag, Protocol.CHUNKS)
                self._asked[sender, control.number] = message
            case ControlPart.ANSWERS:
                message = self._asked.pop((receiver, control.number), -1)
                self._placed[sender, control.place] = message
            case ControlPart.PART:
                message = self._placed.get((receiver, control.place), -1)
                self._bytes(pair, control.length, message)
        self._book.give(request, message)

    def _bytes(self, pair: Pair, missing: int, message: int) -> None:
        while missing > 0 and self._written[pair]:
            write = self._written[pair].popleft()
            missing -= write.length
            self._book.give(write, message)


# Messages of a device whose ranks put to places in each other's memory by the commands of an adapter (`Places`).


class FollowPlaces:
    """The state of the writes so far. `plans`: what is known of each node's heap."""

    def __init__(
        self, places: Places, book: Book, puts: FollowPuts, packets: Any, plans: Sequence[Mapping[str, Any]]
    ) -> None:
        self._places = places
        self._book = book
        self._puts = puts
        self._packets = packets
        self._plans = plans

    def run(self, requests: Iterable[Request]) -> None:
        """All requests of the run, in the order in which they left."""
        for request in requests:
            if request.taken and request.op == Op.WRITE:
                self._take(request)

    def _take(self, request: Request) -> None:
        packet = self._packets[request.row]
        seen = self._places.see(
            request.data,
            request.exposure % EXPOSURES,
            request.offset,
            request.length,
            int(packet["source"]),
            self._plans[request.node],
        )
        self._book.give(request, self._puts.message(packet, seen, request.node))
        self._book.room(request.row, *room(seen))


# Messages of a device whose ranks append records to each other's FIFOs (`Records`), and write the
# bytes of some to where a request said, before the record that answers the request.


class FollowRecords:
    """The state of the requests, writes and appends so far. `plans`: what is known of each node's FIFOs."""

    def __init__(self, records: Records, book: Book, plans: Sequence[Mapping[str, Any]]) -> None:
        self._records = records
        self._book = book
        self._plans = plans
        self._behind: Counter[Pair] = Counter()  # bytes of a pair's FIFO that have been taken, in all
        self._current: dict[Pair, int] = {}  # the message that a pair's next record goes on with
        self._asked: dict[tuple[int, int, int], SeenRequest] = {}  # by sender, receiver and number
        self._written: dict[tuple[Pair, int, int], list[Request]] = defaultdict(list)  # by pair, exposure and key

    def run(self, requests: Sequence[Request]) -> None:
        """All requests of the run, in the order in which they left."""
        heads = self._heads(requests)
        # Messages that were cancelled when they had left. They are not in the table of messages.
        returned = {
            (requests[index].pair[::-1], record.number)
            for index, record in heads.items()
            if record is not None and record.part is RecordPart.RETURNED
        }
        for index, request in enumerate(requests):
            if not request.taken:
                if request.op in APPENDS:
                    self._book.refuse(request)
            elif request.op == Op.WRITE:
                self._written[request.pair, request.exposure, request.key].append(request)
            elif index not in heads:
                self._ask(request)
            else:
                self._take_room(request)
                if (record := heads[index]) is None:
                    self._book.give(request, self._current[request.pair])
                else:
                    self._begin(request, record, cancelled=(request.pair, record.number) in returned)

    def _take_room(self, request: Request) -> None:
        size = self._records.size(self._behind[request.pair], request.length, self._plans[request.node])
        self._behind[request.pair] += size
        self._book.room(request.row, size)

    def _heads(self, requests: Sequence[Request]) -> dict[int, SeenRecord | None]:
        """Records of FIFOs for messages, by index; None for those that go on with a message."""
        left: dict[Pair, int] = defaultdict(int)  # bytes of a pair's message that have not been appended
        found: dict[int, SeenRecord | None] = {}
        for index, one in enumerate(requests):
            if not (one.taken and one.op in APPENDS and self._records.holds(one.offset, one.pair[0])):
                continue
            if left[one.pair] > 0:
                left[one.pair] -= one.length
                found[index] = None
                continue
            found[index] = record = self._records.see(one.data, one.length)
            if record.part is RecordPart.BEGINS:
                left[one.pair] = record.length - record.size
        return found

    def _ask(self, request: Request) -> None:
        receiver, sender = request.pair
        asked = self._records.asks(request.data, request.offset, receiver)
        if asked is not None:
            self._asked[sender, receiver, asked.number] = asked

    def _begin(self, request: Request, record: SeenRecord, *, cancelled: bool) -> None:
        pair, message = request.pair, -1
        if record.part is RecordPart.BEGINS:
            if not cancelled:
                message = self._book.next(pair, record.context, record.tag, Protocol.FIFO)
            self._current[pair] = message
        elif record.part is RecordPart.WRITTEN:
            message = self._book.next(pair, record.context, record.tag, Protocol.REMOTE_WRITE)
            asked = self._asked.pop((*pair, record.number), None)
            if asked is not None:
                self._give_written(pair, asked, record.length, message)
        self._book.give(request, message)

    def _give_written(self, pair: Pair, asked: SeenRequest, length: int, message: int) -> None:
        """Give the message the writes to the memory that was asked for."""
        key = pair, asked.exposure, asked.key
        end = asked.offset + length
        mine = [write for write in self._written[key] if asked.offset <= write.offset < end]
        self._written[key] = [write for write in self._written[key] if not asked.offset <= write.offset < end]
        for write in mine:
            self._book.give(write, message)


# Messages of a device whose NICs match them (`Sends`). The bytes of long ones are read by their receivers.


class FollowSends:
    """The state of the announced messages so far. `answers`: rows of the packets with bytes that were read."""

    def __init__(self, sends: Sends, book: Book, answers: "Answers") -> None:
        self._sends = sends
        self._book = book
        self._answers = answers
        self._announced: dict[Pair, list[tuple[SeenSend, int]]] = defaultdict(list)  # by reader and owner

    def run(self, requests: Iterable[Request]) -> None:
        """All requests of the run, in the order in which they left."""
        for request in requests:
            if request.op == Op.READ:
                self._read(request)
            elif request.op == Op.SEND and not request.taken:
                self._book.refuse(request)
            elif request.op == Op.SEND and (seen := self._sends.see(request.offset, request.data)):
                protocol = Protocol.RENDEZVOUS if seen.announced else Protocol.MATCHED
                message = self._book.next(request.pair, seen.context, seen.tag, protocol)
                self._book.give(request, message)
                if seen.announced:
                    self._announced[request.pair[::-1]].append((seen, message))

    def _read(self, request: Request) -> None:
        """A READ, and the packet with its bytes, belong to the last message that was announced there."""
        for seen, message in reversed(self._announced[request.pair]):
            inside = seen.offset <= request.offset < seen.offset + seen.length
            if inside and (seen.exposure, seen.key) == (request.exposure, request.key):
                for row in (request.row, *self._answers[request.row]):
                    self._book.give(request._replace(row=row), message)
                return


AGAIN_WITHIN = 1024  # requests to a node: so much later equal words are those of another request
Words = Sequence[Sequence[int]]
Number = tuple[int, int]  # of a request to a NIC: its session and sequence number
Answers = dict[int, list[int]]


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
    kinds = (Op.SEND, Op.READ) if isinstance(vocabulary.messages, Sends) else (Op.WRITE, *APPENDS)
    requests, again = _served(packets, words, kinds)
    if isinstance(vocabulary.messages, Records):
        FollowRecords(vocabulary.messages, book, trace.meta["plans"]).run(requests)
    elif isinstance(vocabulary.messages, Places):
        puts = FollowPuts(trace, messages)
        FollowPlaces(vocabulary.messages, book, puts, packets, trace.meta["plans"]).run(requests)
    elif isinstance(vocabulary.messages, Sends):
        FollowSends(vocabulary.messages, book, _answers(packets, words)).run(requests)
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


def _answers(packets: Any, words: Words) -> Answers:
    """By the row of a READ, those of the packets that answer it."""
    asked: dict[tuple[int, int, Number], int] = {}
    found: Answers = defaultdict(list)
    for row, (packet, first) in enumerate(zip(packets, words, strict=True)):
        word, source, target = RequestWord.from_bits(first[0]), int(packet["source"]), int(packet["target"])
        if packet["kind"] == Op.READ:
            number = int(TargetWord.from_bits(first[1]).session), int(word.sequence)
            asked[source, target, number] = row
        elif packet["kind"] == Op.DATA and packet["fault"] != Fault.EXTRA:
            number = int(ReplyWord.from_bits(first[1]).session), int(word.sequence)
            if (target, source, number) in asked:
                found[asked[target, source, number]].append(row)
    return found


def _requests(packets: Any, words: Words, kinds: Sequence[Op]) -> Iterator[tuple[Request, Number]]:
    """Requests of the kinds that bear on messages, and their numbers."""
    rows = np.flatnonzero(
        np.isin(packets["kind"], kinds)
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


def _served(packets: Any, words: Words, kinds: Sequence[Op]) -> tuple[list[Request], list[tuple[int, int]]]:
    """Each request once. Rows that were sent again, each with that of the first time."""
    replies = _Replies(packets, words)
    last: dict[tuple[int, int, Number], tuple[int, int]] = {}  # row and count, by both nodes and number
    count: dict[tuple[int, int], int] = defaultdict(int)
    served: list[Request] = []
    again: list[tuple[int, int]] = []
    for request, asked in _requests(packets, words, kinds):
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
