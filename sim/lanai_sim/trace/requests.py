"""Requests of adapters, and which of them are part of which message."""

from collections import defaultdict, deque
from typing import Any, NamedTuple

from lanai_hdl.remote.packets import Op

from .schema import Protocol

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
