"""Messages of a device whose ranks write bytes and control packets to each other's segments
(`Controls`). Bytes are written before the control packet that announces them, and control packets
do not overtake each other."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lanai_firmware.vocabulary import ControlPart, Controls
from lanai_hdl.remote.packets import Op
from lanai_hdl.remote.tables import EXPOSURES

from .requests import Book, Pair, Request
from .schema import Protocol

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
