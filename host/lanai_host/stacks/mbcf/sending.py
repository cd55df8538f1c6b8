"""Sends: by remote write if the receiver has asked for the message (MB-12), else by FIFO (MB-13,
MB-26)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from lanai_hdl.remote.packets import Op, Status

from ...adapter.lending import Lending, Lent
from ...adapter.operation import REASONS
from ...adapter.token import Token
from ...bus.base import Bus, BusError
from ...config import HostCost, HostCosts
from ...operation import ANY_TAG, ErrorKind
from ..host_operations import fail
from .jobs import Ended, Job, Jobs
from .layout import Head, Kind, Request
from .operations import Kept, Send
from .options import MbcfOptions
from .outbox import Outbox, Write

LOST = (Status.LOST, Status.INVALID)
PIECE = 64 * 1024  # bytes of the program's memory that are exposed at a time


def ignored(send: Send) -> None:
    """For a send whose end no request waits for."""


@dataclass
class Counts:
    """Messages and bytes that this rank has sent to others, by primitive (MB-B6)."""

    written: int = 0
    written_bytes: int = 0
    queued: int = 0
    queued_bytes: int = 0


class Sending:
    """Sends of this rank that are not done. `payload` is the most bytes of a record."""

    def __init__(
        self, bus: Bus, jobs: Jobs, lending: Lending, options: MbcfOptions, payload: int, costs: HostCosts
    ) -> None:
        self._bus = bus
        self._jobs = jobs
        self._lending = lending
        self._options = options
        self._payload = payload
        self._record = min(options.record, payload)
        self._costs = costs
        self.boxes: dict[int, Outbox] = {}
        self.counts = Counts()
        self.news_of_lost: list[tuple[int, str]] = []  # peers, and why; for the device
        self.here: Callable[[Send], None] = ignored  # called when the last record of a message by FIFO is at its peer

    @property
    def idle(self) -> bool:
        return all(box.idle for box in self.boxes.values())

    def pending(self) -> list[Send]:
        """Sends to other ranks that are not done."""
        return [send for box in self.boxes.values() for send in box.sends if not send.done]

    def queue(self, send: Send) -> None:
        box = self.boxes[send.dest]
        if box.lost:
            fail(send, ErrorKind.PEER_FAILED, box.lost)
        else:
            box.queue.append(send)

    async def advance(self) -> None:
        for box in self.boxes.values():
            await self._advance(box)

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

    def lose(self, peer: int, text: str) -> None:
        """Nothing reaches the peer any more."""
        box = self.boxes[peer]
        box.lost = text
        self.news_of_lost.append((peer, text))
        pending = [*box.queue, *box.failed, *box.matched.values(), *(write.send for write in box.writes)]
        for send in pending + ([box.current] if box.current else []):
            if not send.done:
                fail(send, ErrorKind.PEER_FAILED, text)
        for held in (box.queue, box.failed, box.matched, box.notes, box.writes):
            held.clear()
        box.current = None

    async def _advance(self, box: Outbox) -> None:
        """What may leave for a peer leaves, in the order of the sends."""
        self._end_writes(box)
        while not box.lost:
            if box.current is not None:
                if not box.stream.open:
                    return
                self._go_on(box, box.current)
            elif box.notes:
                box.stream.append(box.notes.popleft(), box.token, partial(self._appended, box))
            elif not box.queue or box.failed or not await self._start(box, box.queue[0]):
                return

    async def _start(self, box: Outbox, send: Send) -> bool:
        """Whether the oldest send has left the queue."""
        request = await self._request(box, send)
        if request is not None:
            box.queue.popleft()
            await self._write(box, send, request)
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
        self.counts.queued += 1
        self.counts.queued_bytes += send.length
        return True

    async def _request(self, box: Outbox, send: Send) -> Request | None:
        """A request that this message may answer. Those that it may not are thrown away (MB-16,
        MB-22)."""
        while not send.eager and box.requests.look():
            request = Request.unpack(box.requests.record())
            box.requests.drop()
            await self._bus.elapse(self._costs.price(HostCost.MATCH))
            if (
                box.serials.accepts(request.serial, request.accepted)
                and request.context == send.context
                and request.tag in (ANY_TAG, send.tag)
            ):
                box.serials.answered()
                return request
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
        box.stream.append(data, box.token, partial(self._arrived, box, send) if last else partial(self._appended, box))
        if last:
            box.current, send.data = None, b""
            if send.synchronous:
                box.matched[send.serial] = send
            else:
                send.done = True

    async def _write(self, box: Outbox, send: Send, request: Request) -> None:
        """The bytes go to the receive's memory, and a notice behind them (MB-12, MB-G1)."""
        write = Write(send, request)
        box.writes.append(write)
        size = min(send.length, request.capacity)
        self.counts.written += 1
        self.counts.written_bytes += size
        if size == send.length <= self._options.inline:
            self._write_inline(box, write)
            return
        target = Token(box.token.node, request.exposure, request.key, request.offset, size)
        write.held = send.body.runs == 1 and size >= self._options.direct
        at = 0
        while at < size:
            step = PIECE if write.held else self._payload
            end = min(size, at + step)
            if not (write.held and await self._put_direct(write, target, at, end)):
                end = min(end, at + self._payload)
                try:
                    data = send.body.part(at, end).read()
                except BusError:
                    write.status = Status.BUS  # so it goes by FIFO, which finds the error again
                    break
                self._put(write, Job(Op.WRITE, target, at, self._what(send), self._put_ended(write), data))
            at = end
        self._end_writes(box)

    def _write_inline(self, box: Outbox, write: Write) -> None:
        """The bytes ride in the notice. A copy of them is kept: the notice may be refused."""
        send = write.send
        try:
            data = send.body.read()
        except BusError:
            write.status = Status.BUS
            self._end_writes(box)
            return
        send.body = Kept(data)
        send.done = not send.synchronous
        self._notify(box, write, data)

    async def _put_direct(self, write: Write, target: Token, begin: int, end: int) -> bool:
        """Bytes leave from the program's memory. False if that cannot be exposed now. If it is withdrawn
        meanwhile, they go by FIFO."""
        address = write.send.body.address + begin
        try:
            lent = await self._lending.lend(address, end - begin, writable=False, lasting=False)
        except BusError:
            return False  # the copy finds the error again
        if lent is None:
            return False
        ended = self._put_ended(write, lent)
        what = self._what(write.send)
        self._put(write, Job(Op.WRITE, target, begin, what, ended, address=address, size=end - begin))
        return True

    def _put(self, write: Write, job: Job) -> None:
        write.puts += 1
        self._jobs.add(job)

    def _put_ended(self, write: Write, lent: Lent | None = None) -> Ended:
        def ended(status: Status) -> None:
            write.puts -= 1
            if lent is not None:
                lent.users -= 1
            if write.status is Status.OK:
                write.status = status

        return ended

    def _end_writes(self, box: Outbox) -> None:
        """Notices leave in the order of their messages. What is behind a message that was refused
        is as if refused too."""
        refused = False
        for write in box.writes:
            if refused and not write.noticed and write.status is Status.OK:
                write.status = Status.EXPOSURE
            if write.noticed or (write.held and write.puts and write.status is Status.OK):
                if not write.noticed:
                    break
                continue
            if write.status is not Status.OK:
                refused = True
                continue
            self._notify(box, write)
        while box.writes and self._is_over(box.writes[0]):
            write = box.writes.popleft()
            if write.status is Status.OK:
                write.send.done = True
            else:
                box.failed.append(write.send)
        if box.failed and not box.writes:
            for send in reversed(box.failed):
                if send.recalled and not send.done:
                    send.cancelled = send.done = True
                    continue
                send.eager = True
                box.queue.appendleft(send)
            box.failed.clear()

    @staticmethod
    def _is_over(write: Write) -> bool:
        return write.ended or (write.status is not Status.OK and not write.noticed and not write.puts)

    def _notify(self, box: Outbox, write: Write, data: bytes = b"") -> None:
        """The message has been written, or is `data`."""
        send, request = write.send, write.request
        write.noticed = True
        token = Token(box.token.node, request.notice_exposure, request.notice_key, 0, box.token.size)
        record = Head(Kind.WRITTEN, 0, send.context, send.tag, 0, request.serial, send.length).pack() + data

        def ended(status: Status) -> None:
            write.ended = True
            if write.status is Status.OK:
                write.status = status
            if status in LOST:
                self._appended(box, status)

        box.stream.append(record, token, ended)

    def _arrived(self, box: Outbox, send: Send, status: Status) -> None:
        """The last record of a message by FIFO is at the peer."""
        self._appended(box, status)
        send.here = status is Status.OK
        self.here(send)

    def _appended(self, box: Outbox, status: Status) -> None:
        if status is not Status.OK and not box.lost:
            self.lose(box.peer, f"rank {box.peer} cannot be reached: {REASONS[status]}")

    @staticmethod
    def _what(send: Send) -> str:
        return f"a remote write of {send.length} bytes to rank {send.dest}"
