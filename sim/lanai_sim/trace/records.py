"""Messages of a device whose ranks append records to each other's FIFOs (`Records`), and write the
bytes of some to where a request said, before the record that answers the request."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from lanai_firmware.vocabulary import RecordPart, Records, SeenRecord, SeenRequest
from lanai_hdl.remote.packets import Op

from .requests import APPENDS, Book, Pair, Request
from .schema import Protocol


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
