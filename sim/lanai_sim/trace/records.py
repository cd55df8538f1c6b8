"""Messages of a device whose ranks append records to each other's FIFOs (`Records`), and write the
bytes of some to the memory of a receive. Such a message leaves as writes of as many bytes as it
has, before the record that says so."""

from collections import defaultdict, deque
from collections.abc import Sequence

from lanai_firmware.programs.vocabulary import RecordPart, Records
from lanai_hdl.remote.packets import Op

from .requests import APPENDS, Book, Pair, Request
from .schema import Protocol


class FollowRecords:
    """What has been written and appended so far. `requests` are all of them."""

    def __init__(self, records: Records, book: Book, requests: Sequence[Request]) -> None:
        self._records = records
        self._book = book
        self._queues = {(one.node, one.exposure) for one in requests if one.op in APPENDS}  # exposures with FIFOs
        self._returned = set(self._returns(requests))
        self._current: dict[Pair, int] = {}  # the message that a pair's next record goes on with
        self._left: dict[Pair, int] = defaultdict(int)  # its bytes that have not been appended
        self._written: dict[Pair, deque[Request]] = defaultdict(deque)  # of no message yet

    def take(self, request: Request) -> None:
        """The next request that takes effect."""
        pair = request.pair
        if request.op == Op.WRITE:
            if (request.node, request.exposure) not in self._queues:
                self._written[pair].append(request)
        elif not self._records.holds(request.offset, pair[0]):
            return
        elif self._left[pair] > 0:
            self._left[pair] -= request.length
            self._book.give(request, self._current[pair])
        else:
            self._begin(request)

    def _returns(self, requests: Sequence[Request]) -> list[tuple[Pair, int]]:
        """Messages that were cancelled when they had left: they are not in the table of messages."""
        seen = [(one.pair, self._records.see(one.data, one.length)) for one in requests if one.op in APPENDS]
        return [((pair[1], pair[0]), one.number) for pair, one in seen if one.part is RecordPart.RETURNED]

    def _begin(self, request: Request) -> None:
        pair, record = request.pair, self._records.see(request.data, request.length)
        message = -1
        if record.part is RecordPart.BEGINS:
            if (pair, record.number) not in self._returned:
                message = self._book.next(pair, record.context, record.tag, Protocol.FIFO)
            self._current[pair], self._left[pair] = message, record.length - record.size
        elif record.part is RecordPart.WRITTEN:
            message = self._book.next(pair, record.context, record.tag, Protocol.REMOTE_WRITE)
            missing = record.length - record.size
            while missing > 0 and self._written[pair]:
                write = self._written[pair].popleft()
                missing -= write.length
                self._book.give(write, message)
        self._book.give(request, message)
