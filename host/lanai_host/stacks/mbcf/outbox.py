"""Messages and records on their way from this rank to its peers."""

from collections import deque
from dataclasses import dataclass, field

from lanai_hdl.remote.packets import Status

from ...adapter.fifo import Fifo
from ...adapter.token import Token
from .layout import Request
from .operations import Send
from .serials import SenderSerials
from .stream import Stream


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
