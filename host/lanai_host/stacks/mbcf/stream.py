"""Records for one peer's FIFO: issued without waiting for earlier ones, refused together, and
retried in order (MB-07)."""

from collections import deque
from dataclasses import dataclass

from lanai_hdl.remote.packets import Op, Status

from ...adapter.token import Token
from .jobs import Ended, Job, Jobs

NEVER = -1
AHEAD = 8  # records under way beyond which no long message goes on: as many as a process has command buffers


@dataclass(frozen=True)
class Record:
    """One APPEND: `token` is what it is appended with."""

    data: bytes
    token: Token
    ended: Ended


class Stream:
    """Appends to the FIFO whose control words lie at `offset` of the peer's exposure.

    `ended` of a record is called with anything but FULL: a record that finds no room is kept, with
        all behind it. The peer says when
    it has emptied the FIFO (`room`), and only then are they issued again.
    """

    def __init__(self, jobs: Jobs, offset: int, what: str) -> None:
        self._jobs = jobs
        self._offset = offset
        self._what = what
        self._flying: deque[Record] = deque()
        self._refused: deque[Record] = deque()
        self._later: deque[Record] = deque()  # those that came since: behind all that fly
        self._retried: Record | None = None
        self.told = 0  # how often the peer has emptied the FIFO after a refusal
        self._used = 0  # how many of those have led to a retry

    @property
    def idle(self) -> bool:
        return not (self._flying or self._refused or self._later)

    @property
    def open(self) -> bool:
        """Another record may be issued now."""
        return not self.refused and len(self._flying) < AHEAD

    @property
    def refused(self) -> bool:
        """Records wait for room."""
        return bool(self._refused or self._later)

    def append(self, data: bytes, token: Token, ended: Ended) -> None:
        record = Record(data, token, ended)
        if self._refused or self._later:
            self._later.append(record)
        else:
            self._issue(record, Op.APPEND)

    @property
    def stuck(self) -> bool:
        """All that is left was refused, also since the peer has emptied the FIFO last."""
        return bool(self._refused) and not self._flying and self._used == self.told

    def room(self, told: int) -> None:
        """The peer's count of times that it has emptied the FIFO after a refusal."""
        self.told = told
        self._retry()

    def _issue(self, record: Record, op: Op) -> None:
        self._flying.append(record)
        self._jobs.add(Job(op, record.token, self._offset, self._what, self._end, record.data))

    def _end(self, status: Status) -> None:
        record = self._flying.popleft()  # jobs for one peer end in order
        retried = record is self._retried
        if retried:
            self._retried = None
        if status is Status.FULL:
            (self._refused.appendleft if retried else self._refused.append)(record)
        else:
            if retried and status is Status.OK:
                self._go_on()
            elif retried:  # it has not come so far as to make the FIFO take records again: the next one must
                self._used = NEVER
                self._refused.extend(self._later)
                self._later.clear()
            record.ended(status)
        self._retry()

    def _retry(self) -> None:
        """The oldest record goes first and alone: it makes the FIFO take records again."""
        if self._refused and not self._flying and self._used != self.told:
            self._used = self.told
            self._retried = self._refused.popleft()
            self._issue(self._retried, Op.RETRY)

    def _go_on(self) -> None:
        waiting = [*self._refused, *self._later]
        self._refused.clear()
        self._later.clear()
        for record in waiting:
            self._issue(record, Op.APPEND)
