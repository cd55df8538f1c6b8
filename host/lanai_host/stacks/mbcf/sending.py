"""Sends: by remote write if the receiver has asked for the message (`writing.py`), else by FIFO
(MB-13, MB-26), with few answers if that is asked for (MB-06). A standard send is done once its bytes are in records
(MB-31); the other modes follow it (MB-G3)."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter

from lanai_hdl.remote.packets import Status

from ...adapter.jobs import Jobs
from ...adapter.lending import Lending
from ...adapter.operation import REASONS
from ...bus.base import BusError
from ...config import HostCost
from ...host_model.meter import Meter, fail
from ...operation import ANY_TAG, ErrorKind
from .layout import Head, Kind, MbcfOptions, Request
from .operations import Send
from .outbox import Outbox
from .writing import Counts, Writing

SETTLED = attrgetter("settled")


def ignored(send: Send) -> None:
    """For a send whose end no request waits for."""


def _matches(request: Request, send: Send) -> bool:
    """Return whether the message may go to the receive that the request is for."""
    return request.context == send.context and request.tag in (ANY_TAG, send.tag)


class Sending:
    """Sends of this rank that are not done. `payload` is the most bytes of a record."""

    def __init__(self, meter: Meter, jobs: Jobs, lending: Lending, options: MbcfOptions, payload: int) -> None:
        self._meter = meter
        self._jobs = jobs
        self._record = min(options.record, payload)
        self._keeps = options.request_list
        self._quiet = options.quiet
        self.boxes: dict[int, Outbox] = {}
        self.counts = Counts()
        self._writing = Writing(jobs, lending, options, payload, self.counts, self._appended)
        self.news_of_lost: list[tuple[int, str]] = []  # peers, and why; for the device
        self.here: Callable[[Send], None] = ignored  # called when the last record of a message by FIFO is at its peer

    @property
    def idle(self) -> bool:
        return all(box.idle for box in self.boxes.values())

    @property
    def settled(self) -> bool:
        """Nothing follows from the good end of what is under way."""
        return not self.news_of_lost and all(map(SETTLED, self.boxes.values()))

    def pending(self) -> list[Send]:
        """Sends to other ranks that are not done."""
        return [send for box in self.boxes.values() for send in box.sends if not send.done]

    def leaves(self, send: Send) -> bool:
        """Return whether bytes of a message wait for the adapter alone, and not for room in its peer's FIFO."""
        if self._writing.unfinished is not None or not self._jobs.begun:
            return True
        box = self.boxes[send.dest]
        return not (box.lost or box.stream.refused) and (box.current is send or send in box.queue)

    def queue(self, send: Send) -> None:
        box = self.boxes[send.dest]
        if box.lost:
            fail(send, ErrorKind.PEER_FAILED, box.lost)
        else:
            box.queue.append(send)

    def advance(self) -> None:
        if self._writing.unfinished is not None:
            self._writing.go_on()
        for box in self.boxes.values():
            if box.waiting:
                self._advance(box)

    def tell(self, peer: int, head: Head) -> None:
        """A record of no message leaves for a peer."""
        box = self.boxes[peer]
        if not box.lost:
            box.notes.append(head.pack())

    def matched(self, peer: int, serial: int) -> None:
        """The peer says that a synchronous message has met its receive (MB-33)."""
        box = self.boxes[peer]
        send = box.matched.pop(serial, None)
        if send is not None:
            send.done = True
        elif box.current is not None and box.current.serial == serial:
            box.current.synchronous = False  # its first record was enough; the rest still leaves

    def cancel(self, send: Send) -> bool:
        """A message of which nothing has left is taken back."""
        box = self.boxes.get(send.dest)
        if box is None or send not in box.queue:
            return False
        box.queue.remove(send)
        return True

    def returned(self, peer: int, serial: int) -> None:
        """The peer gives back a synchronous message."""
        send = self.boxes[peer].matched.pop(serial, None)
        if send is not None:
            send.cancelled = send.done = True

    def lose(self, peer: int, text: str, kind: ErrorKind = ErrorKind.PEER_FAILED) -> None:
        """Nothing reaches the peer any more."""
        box = self.boxes[peer]
        box.lost = text
        self.news_of_lost.append((peer, text))
        pending = [*box.queue, *box.failed, *box.matched.values(), *(write.send for write in box.writes)]
        for send in pending + ([box.current] if box.current else []):
            fail(send, kind, text)
        for held in (box.queue, box.failed, box.matched, box.notes, box.writes):
            held.clear()
        box.current = None
        self._writing.give_up(box)

    def _advance(self, box: Outbox) -> None:
        """Send what may leave for a peer, in the order of the sends."""
        self._writing.end(box)
        while not box.lost:
            if box.current is not None:
                if not box.stream.open:
                    return
                self._go_on(box, box.current)
            elif box.notes:
                box.stream.append(box.notes.popleft(), box.token, partial(self._appended, box))
            elif not box.queue or box.refused or self._writing.unfinished or not self._start(box, box.queue[0]):
                return

    def _start(self, box: Outbox, send: Send) -> bool:
        """Start the oldest send. Return whether it has left the queue."""
        request = self._request(box, send)
        if request is not None:
            box.queue.popleft()
            self._writing.start(box, send, request)
            return True
        # A message by FIFO must not overtake one whose remote write may still be refused.
        if box.writes or not box.stream.open:
            return False
        box.queue.popleft()
        try:
            send.data = send.body.read()
        except BusError as error:
            fail(send, ErrorKind.BUS_ERROR, str(error))
            return True
        box.current = send
        send.serial = box.serials.message()
        box.kept.clear()  # the receiver asks again (MB-23)
        self.counts.queued += 1
        self.counts.queued_bytes += send.length
        return True

    def _request(self, box: Outbox, send: Send) -> Request | None:
        """The oldest request that this message may answer. Those that it may not are thrown away (MB-16, MB-22), or
        kept for later messages if no other rule forbids to answer them."""
        if send.eager:
            return None
        for request in box.kept:
            self._meter.spend(HostCost.MATCH)
            if _matches(request, send):
                box.kept.remove(request)
                return request
        while box.requests.look():
            request = Request.unpack(box.requests.record())
            box.requests.drop()
            self._meter.spend(HostCost.MATCH)
            matches = _matches(request, send)
            if (matches or self._keeps) and box.serials.accepts(request.serial, request.accepted):
                box.serials.answered()
                if matches:
                    return request
                box.kept.append(request)
        return None

    def _go_on(self, box: Outbox, send: Send) -> None:
        """The next record of a message by FIFO (MB-G2)."""
        assert send.serial is not None
        head = b""
        if send.copied == 0:
            fields = (Kind.MESSAGE, send.synchronous, send.context, send.tag, send.serial)
            head = Head(*fields, box.serials.next_request, send.length).pack()
        end = min(send.length, send.copied + self._record - len(head))
        data = head + send.data[send.copied : end]
        send.copied = end
        last = end == send.length
        quiet = not last and box.unanswered < self._quiet
        box.unanswered = box.unanswered + 1 if quiet else 0
        ended = partial(self._arrived, box, send) if last else partial(self._appended, box)
        box.stream.append(data, box.token, ended, quiet=quiet)
        if last:
            box.current, send.data = None, b""
            if send.synchronous:
                box.matched[send.serial] = send
            else:
                send.done = True

    def _arrived(self, box: Outbox, send: Send, status: Status) -> None:
        """The last record of a message by FIFO is at the peer."""
        self._appended(box, status)
        send.here = status is Status.OK
        self.here(send)

    def _appended(self, box: Outbox, status: Status) -> None:
        if status is not Status.OK and not box.lost:
            self.lose(box.peer, f"rank {box.peer} cannot be reached: {REASONS[status]}")
