"""Messages and records on their way from this rank to its peers."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from lanai_hdl.remote.packets import Op, Status

from ...adapter.fifo import Fifo
from ...adapter.jobs import Ended, Job, Jobs, always
from ...adapter.operation import Token
from .layout import Request
from .operations import Send

# Serial numbers of messages and requests between two ranks (MB-18 to MB-25): plain state, nothing
# is sent here.
#
# The sender answers a request by a remote write only if it is fresh and successive:
#
# - freshness: the receiver had taken the latest message by FIFO when it made the request;
# - succession: it is the request that follows the one answered last. None before it has vanished or
#     been thrown away.

MASK = (1 << 32) - 1


@dataclass
class SenderSerials:
    """A sender's record of one receiver.

    Attributes:
        sent: serial of the message that was sent by FIFO last (MB-18).
        next_request: one more than that of the request that was answered last (MB-20), or kept.
    """

    sent: int = 0
    next_request: int = 1

    def accepts(self, serial: int, accepted: int) -> bool:
        """Return whether a request may be answered by a remote write (MB-22)."""
        return accepted == self.sent and serial == self.next_request

    def answered(self) -> None:
        """The request that was accepted is answered by a remote write, now or later."""
        self.next_request = (self.next_request + 1) & MASK

    def message(self) -> int:
        """The serial of a message that goes by FIFO."""
        self.sent = (self.sent + 1) & MASK
        return self.sent


@dataclass
class ReceiverSerials:
    """A receiver's record of one sender.

    Attributes:
        accepted: serial of the message that was taken from the FIFO last (MB-21).
        next: serial of the next request (MB-19).
    """

    accepted: int = 0
    next: int = 1

    def request(self) -> int:
        """The serial of a new request."""
        serial = self.next
        self.next = (serial + 1) & MASK
        return serial

    def message(self, serial: int, next_request: int) -> None:
        """A message has been taken from the FIFO. Requests made before are of no use any more
        (MB-23)."""
        self.accepted = serial
        self.next = next_request


# Records for one peer's FIFO: issued without waiting for earlier ones, refused together, and
# retried in order (MB-07).

NEVER = -1
AHEAD = 8  # records under way beyond which no long message goes on: as many as a process has command buffers


@dataclass(eq=False, slots=True)
class Record:
    """One APPEND: `token` is what it is appended with. Once it is not `wanted` it is not issued
    (again)."""

    data: bytes
    token: Token
    ended: Ended
    wanted: Callable[[], bool]


class Stream:
    """Appends to the FIFO whose control words lie at `offset` of the peer's exposure.

    `ended` of a record is called with anything but FULL: a record that finds no room is kept, with
    all behind it. The peer says when it has emptied the FIFO (`room`), and only then are they issued
    again. If a `conditional` record ends with BEFORE the FIFO refuses as well, but there is room: what
    is behind it is issued again at once. A record that is not `wanted` any more ends with BEFORE.
    """

    def __init__(self, jobs: Jobs, offset: int, what: str) -> None:
        self._jobs = jobs
        self._offset = offset
        self._what = what
        self._flying: list[Record] = []
        self._refused: deque[Record] = deque()
        self._later: deque[Record] = deque()  # those that came since: behind all that fly
        self._retried: Record | None = None
        self.barred = False  # the FIFO refuses until a RETRY
        self.emptied = 0  # how often the peer has emptied the FIFO after a refusal
        self._used = 0  # how many of those have led to a retry

    @property
    def idle(self) -> bool:
        return not (self._flying or self._refused or self._later)

    @property
    def open(self) -> bool:
        """Another record may be issued now."""
        return not (self._refused or self._later) and len(self._flying) < AHEAD

    @property
    def refused(self) -> bool:
        """Records wait for room."""
        return bool(self._refused or self._later)

    def append(
        self,
        data: bytes,
        token: Token,
        ended: Ended,
        *,
        conditional: bool = False,
        wanted: Callable[[], bool] = always,
        quiet: bool = False,
    ) -> None:
        """`quiet`: it is answered only if it is refused, and others follow (MB-06). `conditional`: only of a
        record that is issued right behind the writes that it depends on, so not while the FIFO is `barred`. Once it
        is refused for want of room they have ended."""
        record = Record(data, token, ended, wanted)
        if self.barred:
            assert not conditional
            self._later.append(record)
            self._retry()
        else:
            self._issue(record, Op.QUIET if quiet else Op.APPEND, conditional)

    @property
    def stuck(self) -> bool:
        """All that is left was refused, also since the peer has emptied the FIFO last."""
        return bool(self._refused) and not self._flying and self._used == self.emptied

    def room(self, emptied: int) -> None:
        """The peer's count of times that it has emptied the FIFO after a refusal."""
        self.emptied = emptied
        self._retry()

    def _issue(self, record: Record, op: Op, conditional: bool = False) -> None:
        self._flying.append(record)
        ended, begins = partial(self._end, record), partial(self._begins, record)
        job = Job(
            op, record.token, self._offset, self._what, ended, record.data, conditional=conditional, begins=begins
        )  # fmt: skip
        self._jobs.add(job)

    def _begins(self, record: Record) -> bool:
        wanted = record.wanted()
        if not wanted:
            self._end(record, Status.BEFORE, dropped=True)
        return wanted

    def _end(self, record: Record, status: Status, *, dropped: bool = False) -> None:
        self._flying.remove(record)
        retried = record is self._retried
        if retried:
            self._retried = None
        if status is Status.FULL:
            self.barred = True
            (self._refused.appendleft if retried else self._refused.append)(record)
        else:
            if retried and status is Status.OK:
                self._go_on()
            elif retried or (status is Status.BEFORE and not dropped):
                # The FIFO has not come so far as to take records again, though it may have room: the
                # next one must make it.
                self.barred = True
                self._used = NEVER
            record.ended(status)
        self._retry()

    def _retry(self) -> None:
        """The oldest record goes first and alone: it makes the FIFO take records again."""
        if not self.barred or self._flying or self._used == self.emptied:
            return
        self._refused.extend(self._later)
        self._later.clear()
        if self._refused:
            self._used = self.emptied
            self._retried = self._refused.popleft()
            self._issue(self._retried, Op.RETRY)

    def _go_on(self) -> None:
        self.barred = False
        waiting = [*self._refused, *self._later]
        self._refused.clear()
        self._later.clear()
        for record in waiting:
            self._issue(record, Op.APPEND)


@dataclass
class Write:
    """A message that goes by remote write.

    Attributes:
        size: bytes that the receive has room for.
        data: the bytes, if they ride in the notice.
        begun: bytes whose puts have been asked for.
        puts: under way.
        noticed: its notice has been issued.
        ended: the notice has ended.
        status: the first that was not OK; that of a message before it, if that was refused.
    """

    send: Send
    request: Request
    size: int
    data: bytes = b""
    begun: int = 0
    puts: int = 0
    noticed: bool = False
    ended: bool = False
    status: Status = Status.OK


@dataclass
class Outbox:
    """The messages and records on their way to one peer.

    Attributes:
        token: of the exposure that holds the peer's FIFOs.
        requests: the FIFO in which the peer leaves its requests, here.
        kept: requests that were taken from it and may be answered, oldest first (`MbcfOptions.request_list`).
        failed: messages whose remote write was refused; they go by FIFO once all of `writes` have
            ended.
        notes: records to send between two messages.
        matched: synchronous sends by FIFO that have left, by serial.
        unanswered: quiet records behind the last one that was not.
        urged: how often the peer had emptied the FIFO when it was signalled to do so again.
    """

    peer: int
    token: Token
    stream: Stream
    requests: Fifo
    serials: SenderSerials = field(default_factory=SenderSerials)
    kept: list[Request] = field(default_factory=list)
    queue: deque[Send] = field(default_factory=deque)
    current: Send | None = None
    writes: deque[Write] = field(default_factory=deque)
    failed: list[Send] = field(default_factory=list)
    notes: deque[bytes] = field(default_factory=deque)
    matched: dict[int, Send] = field(default_factory=dict)
    lost: str = ""
    urged: int = -1
    unanswered: int = 0

    @property
    def sends(self) -> list[Send]:
        """The sends that have not left, or whose end is not known yet, oldest first."""
        begun = [*self.matched.values(), *(write.send for write in self.writes), *self.failed]
        return [*begun, *([self.current] if self.current else []), *self.queue]

    @property
    def refused(self) -> bool:
        """A message was refused as a write. Nothing behind it begins before it goes by FIFO."""
        return bool(self.failed) or any(write.status is not Status.OK for write in self.writes)

    @property
    def idle(self) -> bool:
        return not self.waiting and self.stream.idle

    @property
    def settled(self) -> bool:
        """Nothing follows from the good end of records under way."""
        return not self.waiting and not self.stream.barred

    @property
    def waiting(self) -> bool:
        """Messages or notes have not left, or have not ended."""
        return bool(self.queue or self.current or self.writes or self.failed or self.notes or self.matched)
