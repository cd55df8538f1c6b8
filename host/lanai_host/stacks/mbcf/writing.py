"""Messages that go by remote write to the receive that has asked for them (MB-02, MB-12)."""

from collections.abc import Callable
from dataclasses import dataclass

from lanai_hdl.remote.packets import Op, Status

from ...adapter.jobs import Ended, Job, Jobs
from ...adapter.lending import Lending, Lent
from ...adapter.operation import Token
from ...bus.base import PAGE_SIZE, BusError
from .layout import Head, Kind, MbcfOptions, Request
from .operations import OwnBytes, Send
from .outbox import Outbox, Write

LOST = (Status.LOST, Status.INVALID)
PIECE = 64 * 1024  # bytes of the program's memory that are exposed at a time
LONG = 8  # times `MbcfOptions.first`: for fewer bytes, a second put and exposure cost more than is gained


@dataclass
class Counts:
    """Messages and bytes that this rank has sent to others, by primitive (MB-B6)."""

    written: int = 0
    written_bytes: int = 0
    queued: int = 0
    queued_bytes: int = 0


class Writing:
    """Remote writes of this rank. `payload` is the most bytes of a packet. `lost` is told of a peer
    that a notice did not reach.

    Attributes:
        unfinished: the message that has not begun to leave as a whole. No other one may begin: its puts and its
            notice are a unit to the adapters.
    """

    def __init__(
        self,
        jobs: Jobs,
        lending: Lending,
        options: MbcfOptions,
        payload: int,
        counts: Counts,
        lost: Callable[[Outbox, Status], None],
    ) -> None:
        self._jobs = jobs
        self._lending = lending
        self._options = options
        self._payload = payload
        self._counts = counts
        self._lost = lost
        self.unfinished: tuple[Outbox, Write] | None = None
        self._lent = 0  # pieces of the program's memory that are under way

    def start(self, box: Outbox, send: Send, request: Request) -> None:
        """The bytes go to the receive's memory, and a notice behind them (MB-12, MB-G1). A conditional
        notice, begun right behind its puts, need not wait until they have ended."""
        write = Write(send, request, min(send.length, request.capacity))
        box.writes.append(write)
        self._counts.written += 1
        self._counts.written_bytes += write.size
        if write.size == send.length <= self._options.inline:
            self._take_inline(write)
            write.begun = write.size
        self.unfinished = (box, write)
        self.go_on()

    def go_on(self) -> None:
        """Send what may leave of the message whose bytes have not all left."""
        if self.unfinished is None:
            return
        box, write = self.unfinished
        target = Token(box.token.node, write.request.exposure, write.request.key, write.request.offset, write.size)
        direct = write.send.body.runs == 1 and write.size >= self._options.direct
        while write.begun < write.size and write.status is Status.OK:
            if not (self._put_direct(box, write, target) if direct else self._put_copy(box, write, target)):
                return
        self.unfinished = None
        first = all(one.noticed for one in box.writes if one is not write)
        if write.puts and first and not box.stream.barred and write.status is Status.OK:
            self._notify(box, write, conditional=True)
        self.end(box)
        if direct and self._options.first and self._lending.evicted:
            self._jobs.begin()
            self._lending.take_back_ahead()

    def give_up(self, box: Outbox) -> None:
        """Nothing reaches this peer any more."""
        if self.unfinished is not None and self.unfinished[0] is box:
            self.unfinished = None

    @staticmethod
    def _take_inline(write: Write) -> None:
        """The bytes ride in the notice. A copy of them is kept: the notice may be refused."""
        send = write.send
        try:
            write.data = send.body.read()
        except BusError:
            write.status = Status.BUS
            return
        send.body = OwnBytes(write.data)
        send.done = not send.synchronous

    def _put_direct(self, box: Outbox, write: Write, target: Token) -> bool:
        """The next bytes leave from the program's memory. If it is withdrawn meanwhile, they go by
        FIFO. False if they must wait for others to end."""
        begin = write.begun
        if begin and not self._jobs.free:
            return False
        address = write.send.body.address + begin
        end = min(write.size, begin + self._piece(write, address))
        try:
            lent = self._lending.lend(address, end - begin, writable=False, lasting=False)
        except BusError:
            lent = None  # the copy finds the error again
        else:
            if lent is None and self._lent:
                return False
        if lent is None:
            return self._put_copy(box, write, target)
        self._lent += 1
        ended = self._put_ended(box, write, lent)
        what = self._what(write.send)
        self._put(write, Job(Op.WRITE, target, begin, what, ended, address=address, size=end - begin, bound=True), end)
        if end < write.size:
            self._jobs.begin()  # it leaves while the next pages are pinned
        return True

    def _piece(self, write: Write, address: int) -> int:
        """Most bytes of the program's memory, from an address on, that are exposed at a time."""
        first = self._options.first
        if write.begun or not first or write.size < LONG * first or not self._jobs.idle:
            return PIECE
        return first - address % PAGE_SIZE % first  # no page is in two pieces

    def _put_copy(self, box: Outbox, write: Write, target: Token) -> bool:
        """The next bytes leave from a copy."""
        begin, end = write.begun, min(write.size, write.begun + self._payload)
        try:
            data = write.send.body.part(begin, end).read()
        except BusError:
            self._refuse(box, write, Status.BUS)  # so it goes by FIFO, which finds the error again
        else:
            ended = self._put_ended(box, write)
            self._put(write, Job(Op.WRITE, target, begin, self._what(write.send), ended, data, bound=True), end)
        return True

    def _put(self, write: Write, job: Job, end: int) -> None:
        write.puts += 1
        write.begun = end
        self._jobs.add(job)

    def _put_ended(self, box: Outbox, write: Write, lent: Lent | None = None) -> Ended:
        def ended(status: Status) -> None:
            write.puts -= 1
            if lent is not None:
                lent.users -= 1
                self._lent -= 1
            if status is not Status.OK:
                self._refuse(box, write, status)

        return ended

    @staticmethod
    def _refuse(box: Outbox, write: Write, status: Status) -> None:
        """A message does not arrive as a write. What is behind it is as if refused too: it must not
        overtake it."""
        behind = False
        for one in box.writes:
            behind = behind or one is write
            if behind and one.status is Status.OK:
                one.status = status

    def end(self, box: Outbox) -> None:
        """Notices leave in the order of their messages. One that could not leave with its puts waits
        until they have ended."""
        for write in box.writes:
            if write.noticed or write.status is not Status.OK:
                continue
            if write.puts or write.begun < write.size:
                break
            self._notify(box, write, conditional=False)
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
        return not write.puts and (write.ended or (write.status is not Status.OK and not write.noticed))

    def _notify(self, box: Outbox, write: Write, *, conditional: bool) -> None:
        """The message has been written; with `conditional`, its puts have just been begun."""
        send, request = write.send, write.request
        write.noticed = True
        token = Token(box.token.node, request.notice_exposure, request.notice_key, 0, box.token.size)
        record = Head(Kind.WRITTEN, 0, send.context, send.tag, 0, request.serial, send.length).pack() + write.data

        def ended(status: Status) -> None:
            write.ended = True
            if status is not Status.OK:
                self._refuse(box, write, status)
            if status in LOST:
                self._lost(box, status)

        box.stream.append(record, token, ended, conditional=conditional, wanted=lambda: write.status is Status.OK)

    @staticmethod
    def _what(send: Send) -> str:
        return f"a remote write of {send.length} bytes to rank {send.dest}"
