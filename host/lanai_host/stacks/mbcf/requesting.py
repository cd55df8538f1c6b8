"""Requests for messages that have not come: sent to the source when the receive is posted, so that
it writes straight to the receive's memory (MB-12, MB-17, MB-19 to MB-24). The sender matches any tag (MB-G5).

A request promises that no older receive could take the message instead. So those that are
outstanding at a source are always the oldest receives that name it, without a gap, and none of them
is behind a receive from any source.

A message that rides in its notice gains nothing by a request. So a receive of few bytes is asked for
only together with a larger one behind it.
"""

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from lanai_hdl.remote.packets import Op, Status

from ...adapter.exposures import Exposure
from ...adapter.jobs import Job, Jobs
from ...adapter.lending import Lending, Lent
from ...adapter.operation import Token
from ...bus.base import BusError
from ...remote import Access
from .layout import MbcfOptions, Request
from .operations import Matcher, Receive
from .outbox import ReceiverSerials


@dataclass
class Outstanding:
    """A request that the source may answer."""

    serial: int
    receive: Receive
    lent: Lent | None


@dataclass
class Source:
    """The requests of this rank to one peer.

    Attributes:
        token, offset: the FIFO for requests at the peer.
        outstanding: oldest first.
        suspended: nothing is asked for until a message comes by FIFO.
        refused: the FIFO refused a request, so that the next one must be a RETRY.
    """

    peer: int
    token: Token
    offset: int
    serials: ReceiverSerials = field(default_factory=ReceiverSerials)
    outstanding: deque[Outstanding] = field(default_factory=deque)
    suspended: bool = False
    refused: bool = False


class Requesting:
    """Requests of this rank. `notices` is the exposure with which their senders append notices."""

    def __init__(self, jobs: Jobs, lending: Lending, matcher: Matcher, options: MbcfOptions) -> None:
        self._jobs = jobs
        self._lending = lending
        self._matcher = matcher
        self._options = options
        self.sources: dict[int, Source] = {}
        self.notices: Exposure | None = None
        self.paused = False  # nothing is asked for now

    def ask(self, peer: int) -> None:
        """Ask for as many as may be."""
        source = self.sources[peer]
        if source.suspended or self.paused or not self._options.requests:
            return
        pending = self._matcher.by_source.get(peer)
        count = len(source.outstanding)
        if pending is None or len(pending) <= count:
            return
        barrier = next(iter(self._matcher.any_source), None)
        for receive in self._worth_asking(list(islice(pending.values(), count, self._options.window))):
            if (barrier is not None and receive.number > barrier) or not self._ask(source, receive):
                return

    def _worth_asking(self, receives: list[Receive]) -> list[Receive]:
        """Return the receives up to the last one that is large enough."""
        while receives and receives[-1].body.size < self._options.ask_from:
            receives.pop()
        return receives

    def ask_all(self) -> None:
        for peer in self.sources:
            self.ask(peer)

    def answered(self, peer: int, serial: int) -> Receive | None:
        """The source has written the message of this request: the receive that it was for."""
        source = self.sources[peer]
        answered = next((one for one in source.outstanding if one.serial == serial), None)
        if answered is None:
            return None
        source.outstanding.remove(answered)
        self._release(answered)
        self._matcher.withdraw(answered.receive)
        return answered.receive

    def message(self, peer: int, serial: int, next_request: int) -> None:
        """A message has come by FIFO: no request made so far will be answered (MB-23)."""
        source = self.sources[peer]
        source.serials.message(serial, next_request)
        source.suspended = False
        self._forget(source)

    def asked(self, receive: Receive) -> bool:
        """Return whether the receive's source may write to its memory at any time."""
        source = self.sources.get(receive.source)
        return source is not None and any(one.receive is receive for one in source.outstanding)

    def suspend(self) -> None:
        """All requests have been revoked. Their senders find out when they answer, and send by FIFO
        what they wrote in vain."""
        for source in self.sources.values():
            source.suspended = source.suspended or bool(source.outstanding)
            self._forget(source)

    def forget(self, peer: int) -> None:
        """The peer answers no request any more."""
        source = self.sources[peer]
        source.suspended = True
        self._forget(source)

    def memory(self, receive: Receive) -> Lent | None:
        """Return the memory that the source of a receive may write to; None if there is none."""
        outstanding = self.sources[receive.source].outstanding
        return next(one.lent for one in outstanding if one.receive is receive)

    def _ask(self, source: Source, receive: Receive) -> bool:
        lent, exposure, offset = None, None, 0
        size = receive.body.size
        if size:
            if receive.body.runs != 1:
                return False
            try:
                lent = self._lending.lend(receive.body.address, size, writable=True, access=Access.WRITE, lasting=False)
            except BusError:
                return False  # the copy from the FIFO finds the error again
            if lent is None:
                return False
            exposure = lent.exposure.token
            offset = lent.exposure.offset(receive.body.address)
        serial = source.serials.request()
        source.outstanding.append(Outstanding(serial, receive, lent))
        assert self.notices is not None
        notices = self.notices.token
        request = Request(
            serial,
            source.serials.accepted,
            receive.context,
            receive.tag,
            exposure.exposure if exposure else 0,
            exposure.key if exposure else 0,
            offset,
            size,
            notices.exposure,
            notices.key,
        )
        op = Op.RETRY if source.refused else Op.APPEND
        source.refused = False
        what = f"a request to rank {source.peer}"
        self._jobs.add(Job(op, source.token, source.offset, what, partial(self._ended, source), request.pack()))
        return True

    def _ended(self, source: Source, status: Status) -> None:
        """A request that found no room is lost: it is not sent again (MB-17)."""
        source.refused = source.refused or status is Status.FULL

    def _forget(self, source: Source) -> None:
        for one in source.outstanding:
            self._release(one)
        source.outstanding.clear()

    def _release(self, one: Outstanding) -> None:
        if one.lent is not None:
            one.lent.users -= 1
