"""Records for one peer's FIFO: issued without waiting for earlier ones, refused together, and
retried in order (MB-07)."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from lanai_hdl.remote.packets import Op, Status

from ...adapter.token import Token
from .jobs import Ended, Job, Jobs, always

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
        self.told = 0  # how often the peer has emptied the FIFO after a refusal
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
        return bool(self._refused) and not self._flying and self._used == self.told

    def room(self, told: int) -> None:
        """The peer's count of times that it has emptied the FIFO after a refusal."""
        self.told = told
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
        if not self.barred or self._flying or self._used == self.told:
            return
        self._refused.extend(self._later)
        self._later.clear()
        if self._refused:
            self._used = self.told
            self._retried = self._refused.popleft()
            self._issue(self._retried, Op.RETRY)

    def _go_on(self) -> None:
        self.barred = False
        waiting = [*self._refused, *self._later]
        self._refused.clear()
        self._later.clear()
        for record in waiting:
            self._issue(record, Op.APPEND)
