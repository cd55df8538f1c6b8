"""Barriers by remote writes (MB-36): in round k each rank writes to the one 2**k above it, and waits
for the write of the one 2**k below. No message is sent, and no FIFO is read."""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from lanai_hdl.remote.packets import Op, Status

from ...adapter.jobs import Job, Jobs
from ...adapter.operation import REASONS
from ...bus.base import Watched
from ...host_model.meter import fail
from ...operation import ErrorKind, Operation
from .layout import ROOM
from .peers import Queues
from .sending import Sending

COUNT_BITS = 2  # a peer is at most one barrier ahead: its count is 0, 1 or 2 above what was taken
COUNTS = 1 << COUNT_BITS
SLOTS = 8 * ROOM.size // COUNT_BITS


@dataclass
class Slot:
    """Barriers that all ranks begin in the same order. One is under way, in round `round`; the
    others wait."""

    queue: deque[Operation] = field(default_factory=deque)
    round: int = 0


class Barriers:
    """Barriers of `ranks`, which begin together; none if there are no ranks. A peer's word has a
    count for each slot: of the writes to this rank, modulo 4."""

    def __init__(self, jobs: Jobs, queues: Queues, sending: Sending, ranks: Collection[int]) -> None:
        self._jobs = jobs
        self._queues = queues
        self._sending = sending
        self._ranks = sorted(ranks)
        self._place = self._ranks.index(queues.rank) if ranks else 0
        self._slots = [Slot() for _ in range(SLOTS)]
        self._told = dict.fromkeys(self._ranks, 0)  # this rank's word at each peer
        self._taken = dict.fromkeys(self._ranks, 0)  # each peer's word here, as far as its writes have been used
        self._seen = dict.fromkeys(self._ranks, 0)  # ... as it was at the last look
        self._under_way = 0  # in all slots
        self._kind = ErrorKind.PEER_FAILED  # of the error when a peer or the NIC is lost
        self.lost = ""  # a peer, and why: no barrier succeeds any more
        self.passed = 0

    def serves(self, members: Sequence[int], slot: int) -> bool:
        """Return whether this class performs a barrier of these ranks. All members get the same answer."""
        return len(self._ranks) == len(members) > 1 and slot < SLOTS and set(members) == set(self._ranks)

    def begin(self, number: int) -> Operation:
        """Queue a barrier in a slot."""
        operation = Operation()
        slot = self._slots[number]
        slot.queue.append(operation)
        self._under_way += 1
        if self.lost:
            self.fail_all(self.lost, self._kind)
        elif len(slot.queue) == 1:
            self._tell(number)
        return operation

    def look(self) -> int:
        """Take what peers have written, and write what follows from it. How many writes were taken."""
        if self.idle:
            return 0
        taken = 0
        for peer in self._awaited():
            self._seen[peer] = self._queues.barrier_word(peer)
        for number, slot in enumerate(self._slots):
            while slot.queue and self._hear(number, slot):
                taken += 1
        return taken

    def watched(self) -> list[Watched]:
        """Return the words that change when a write comes that a barrier waits for."""
        if self.idle:
            return []
        return [self._queues.barrier_watched(peer, self._seen[peer]) for peer in self._awaited()]

    @property
    def targets(self) -> list[int]:
        """The ranks that this one writes to."""
        return [self._above(number) for number in range((len(self._ranks) - 1).bit_length())]

    @property
    def idle(self) -> bool:
        return not self._under_way

    def fail_all(self, text: str, kind: ErrorKind = ErrorKind.PEER_FAILED) -> None:
        """A rank or this rank's NIC is lost."""
        self.lost, self._kind = text, kind
        for slot in self._slots:
            for operation in slot.queue:
                fail(operation, kind, text)
            slot.queue.clear()
        self._under_way = 0

    def _awaited(self) -> Iterator[int]:
        return (self._below(slot.round) for slot in self._slots if slot.queue)

    def _above(self, number: int) -> int:
        return self._ranks[(self._place + (1 << number)) % len(self._ranks)]

    def _below(self, number: int) -> int:
        return self._ranks[(self._place - (1 << number)) % len(self._ranks)]

    def _tell(self, number: int) -> None:
        """The write of a slot's round."""
        peer = self._above(self._slots[number].round)
        self._told[peer] = word = _counted(self._told[peer], number)

        def ended(status: Status) -> None:
            if status is not Status.OK and not self.lost:
                self._sending.lose(peer, f"rank {peer} cannot be told of a barrier: {REASONS[status]}")

        what = f"a barrier's word at rank {peer}"
        at = self._queues.barrier_there()
        self._jobs.add(Job(Op.WRITE, self._queues.token(peer), at, what, ended, ROOM.pack(word)))

    def _hear(self, number: int, slot: Slot) -> bool:
        """Go on if the write of this round has come. Whether it has."""
        peer = self._below(slot.round)
        if _count(self._seen[peer], number) == _count(self._taken[peer], number):
            return False
        self._taken[peer] = _counted(self._taken[peer], number)
        slot.round += 1
        if 1 << slot.round >= len(self._ranks):
            slot.round = 0
            slot.queue.popleft().done = True
            self._under_way -= 1
            self.passed += 1
        if slot.queue:
            self._tell(number)
            self._seen[self._below(slot.round)] = self._queues.barrier_word(self._below(slot.round))
        return True


def _count(word: int, slot: int) -> int:
    return word >> COUNT_BITS * slot & COUNTS - 1


def _counted(word: int, slot: int) -> int:
    """With one more in a slot, whose carry is dropped."""
    at = COUNT_BITS * slot
    return word & ~(COUNTS - 1 << at) | (_count(word, slot) + 1 & COUNTS - 1) << at
