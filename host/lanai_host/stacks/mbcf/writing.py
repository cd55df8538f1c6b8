"""Messages that go by remote write to the receive that has asked for them (MB-12)."""

from collections.abc import Callable
from dataclasses import dataclass

from lanai_hdl.remote.packets import Op, Status

from ...adapter.lending import Lending, Lent
from ...adapter.token import Token
from ...bus.base import BusError
from .jobs import Ended, Job, Jobs
from .layout import Head, Kind, Request
from .operations import Kept, Send
from .options import MbcfOptions
from .outbox import Outbox, Write

LOST = (Status.LOST, Status.INVALID)
PIECE = 64 * 1024  # bytes of the program's memory that are exposed at a time


@dataclass
class Counts:
    """Messages and bytes that this rank has sent to others, by primitive (MB-B6)."""

    written: int = 0
    written_bytes: int = 0
    queued: int = 0
    queued_bytes: int = 0


class Writing:
    """Remote writes of this rank. `payload` is the most bytes of a packet. `lost` is told of a peer
    that a notice did not reach."""

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

    async def start(self, box: Outbox, send: Send, request: Request) -> None:
        """The bytes go to the receive's memory, and a notice behind them (MB-12, MB-G1). A conditional
        notice, begun right behind its puts, need not wait until they have ended."""
        write = Write(send, request)
        box.writes.append(write)
        size = min(send.length, request.capacity)
        self._counts.written += 1
        self._counts.written_bytes += size
        if size == send.length <= self._options.inline:
            self._take_inline(write)
        else:
            await self._put_all(box, write, size)
        first = all(one.noticed for one in box.writes if one is not write)
        if write.puts and first and not box.stream.barred and write.status is Status.OK:
            self._notify(box, write, conditional=True)
        self.end(box)

    async def _put_all(self, box: Outbox, write: Write, size: int) -> None:
        send, request = write.send, write.request
        target = Token(box.token.node, request.exposure, request.key, request.offset, size)
        direct = send.body.runs == 1 and size >= self._options.direct
        at = 0
        while at < size:
            step = PIECE if direct else self._payload
            end = min(size, at + step)
            if not (direct and await self._put_direct(box, write, target, at, end)):
                end = min(end, at + self._payload)
                try:
                    data = send.body.part(at, end).read()
                except BusError:
                    self._refuse(box, write, Status.BUS)  # so it goes by FIFO, which finds the error again
                    break
                self._put(
                    write, Job(Op.WRITE, target, at, self._what(send), self._put_ended(box, write), data, bound=True)
                )
            at = end

    @staticmethod
    def _take_inline(write: Write) -> None:
        """The bytes ride in the notice. A copy of them is kept: the notice may be refused."""
        send = write.send
        try:
            write.data = send.body.read()
        except BusError:
            write.status = Status.BUS
            return
        send.body = Kept(write.data)
        send.done = not send.synchronous

    async def _put_direct(self, box: Outbox, write: Write, target: Token, begin: int, end: int) -> bool:
        """Bytes leave from the program's memory. False if that cannot be exposed now. If it is
        withdrawn meanwhile, they go by FIFO."""
        address = write.send.body.address + begin
        try:
            lent = await self._lending.lend(address, end - begin, writable=False, lasting=False)
        except BusError:
            return False  # the copy finds the error again
        if lent is None:
            return False
        ended = self._put_ended(box, write, lent)
        what = self._what(write.send)
        self._put(write, Job(Op.WRITE, target, begin, what, ended, address=address, size=end - begin, bound=True))
        return True

    def _put(self, write: Write, job: Job) -> None:
        write.puts += 1
        self._jobs.add(job)

    def _put_ended(self, box: Outbox, write: Write, lent: Lent | None = None) -> Ended:
        def ended(status: Status) -> None:
            write.puts -= 1
            if lent is not None:
                lent.users -= 1
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
            if write.puts:
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
