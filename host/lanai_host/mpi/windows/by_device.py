"""One-sided communication by a device's remote memory: put, get, locks, and what its atomics can
do.

What it cannot do goes by messages: targets in many pieces, and combining that the hardware does not
know. Which way an element is combined (SC-25) depends on its type and the operation only, so
elements stay whole. Put and get go straight to the target's memory (SC-20). Gets that are longer than
the device likes to read are messages too (SC-22): the target sends the bytes.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ...operation import DeviceError, Wait
from ...remote import Atomic, Exposure, Reach, Remote
from ..communicator import Communicator
from ..constants import LockType
from ..memory import Scratch
from ..op import PREDEFINED, Op
from ..request import device_error, hold
from . import way
from .messages import Messages
from .sender import Service
from .target import Target
from .way import COMPLETED, GRANTED, NEXT, POSTED, STATE, TAIL, TURN, Buffer, Pending, Place, Transfer, Words
from .written import Accessed, Counted, pieces_of, reached, runs_of

# Locks of targets by atomics on words in their memory: nothing of a target's processor is needed
# (SC-23).
#
# Who locks queues at the target (Mellor-Crummey and Scott): a process waits for a word of its own,
# which the one before it writes. An exclusive lock is the head of the queue for as long as it is
# held. A shared one leaves the queue at once, and is counted. So locks are granted in the order in
# which they were asked for.

READERS = (1 << 16) - 1  # of STATE: shared locks held; above them, the rank that waits for their end
WAITER = 1 << 16


class QueueLocks:
    """The locks of one window's memory, as rank `me` uses them. All methods block."""

    def __init__(self, words: Words, me: int) -> None:
        self._words = words
        self._me = me

    def lock(self, rank: int, kind: LockType, why: Wait) -> None:
        self._enter(rank, why)
        if kind is LockType.SHARED:
            self._words.change(rank, STATE, Atomic.ADD, 1, why)
            self._leave(rank, why)
            return
        self._words.set(rank, GRANTED, 0)
        state = self._words.change(rank, STATE, Atomic.ADD, WAITER * (self._me + 1), why)
        if state & READERS:
            self._words.until_set(rank, GRANTED, why)

    def unlock(self, rank: int, kind: LockType, why: Wait) -> None:
        if kind is LockType.EXCLUSIVE:
            self._words.change(rank, STATE, Atomic.ADD, -WAITER * (self._me + 1), why)
            self._leave(rank, why)
            return
        state = self._words.change(rank, STATE, Atomic.ADD, -1, why)
        if state & READERS == 1 and state // WAITER:
            self._words.tell(state // WAITER - 1, rank, GRANTED, 1, why)

    def _enter(self, rank: int, why: Wait) -> None:
        """Until this process is the head of the queue."""
        self._words.set(rank, NEXT, 0)
        self._words.set(rank, TURN, 0)
        before = self._words.change(rank, TAIL, Atomic.SWAP, self._me + 1, why)
        if before:
            self._words.tell(before - 1, rank, NEXT, self._me + 1, why)
            self._words.until_set(rank, TURN, why)

    def _leave(self, rank: int, why: Wait) -> None:
        """The next in the queue is its head."""
        if not self._words.get(rank, NEXT):
            last = self._words.change(rank, TAIL, Atomic.COMPARE_AND_SWAP, 0, why, self._me + 1)
            if last == self._me + 1:
                return
            self._words.until_set(rank, NEXT, why)  # it has queued, and tells so next
        self._words.tell(self._words.get(rank, NEXT) - 1, rank, TURN, 1, why)


MOST_RUNS = 64  # pieces of a target that are put one by one
KINDS = frozenset({"integer", "fortran integer"})  # of elements that atomics change
OPERATIONS = {
    id(PREDEFINED["MPI_SUM"]): Atomic.ADD,
    id(PREDEFINED["MPI_BAND"]): Atomic.AND,
    id(PREDEFINED["MPI_BOR"]): Atomic.OR,
    id(PREDEFINED["MPI_BXOR"]): Atomic.XOR,
    id(PREDEFINED["MPI_REPLACE"]): Atomic.SWAP,
    id(PREDEFINED["MPI_NO_OP"]): Atomic.ADD,  # of 0
}


class ByDevice(Messages):
    """Use `connect` once the tokens of all processes are known.

    Args:
        remote: of the device.
    """

    def __init__(self, communicator: Communicator, target: Target, service: Service, name: str, remote: Remote) -> None:
        super().__init__(communicator, target, service, name)
        self._remote = remote
        self._reaches: list[Reach | None] = []
        self._exposures: list[Exposure] = []
        self._begun: list[list[Transfer]] = [[] for _ in range(communicator.size)]
        self._unsettled: set[int] = set()  # targets that may not have all of it yet
        self._combined: set[int] = set()  # those among them whose elements atomics change
        self._kinds: dict[int, LockType] = {}
        self.words = Words(communicator, remote, self._fail)
        self._locks = QueueLocks(self.words, self._me)
        self._posts = [0] * communicator.size  # calls of MPI_Win_post and MPI_Win_complete for each rank
        self._completes = [0] * communicator.size

    def connect(self, exposures: list[Exposure], memory: list[Reach | None], words: list[Reach]) -> None:
        """Learn where each rank's memory is, unless messages must reach it, and the words of its lock.
        `exposures` are this process's own."""
        self._exposures = exposures
        self._reaches = memory
        self.words.connect(words)

    @property
    def reached(self) -> frozenset[int]:
        """The ranks whose memory needs no messages."""
        return frozenset(rank for rank, reach in enumerate(self._reaches) if reach is not None)

    # Operations

    def put(self, call: str, origin: Buffer, target: Place) -> Transfer:
        reach = self._reaches[target.rank]
        if reach is None or target.rank == self._me or self._scattered(target):
            return super().put(call, origin, target)
        body = origin.body()
        with self._progress.lock:
            puts = [self._remote.put(reach, offset, part) for offset, part in pieces_of(target, body)]
        return self._keep(target.rank, Accessed(self._why(call, target.rank, "put"), target.rank, puts))

    def get(self, call: str, origin: Buffer, target: Place) -> Transfer:
        reach = self._reaches[target.rank]
        if reach is None or target.rank == self._me or self._scattered(target) or self._long(target):
            return super().get(call, origin, target)
        body = origin.body()
        with self._progress.lock:
            gets = [self._remote.get(reach, offset, part) for offset, part in pieces_of(target, body)]
        return self._keep(target.rank, Accessed(self._why(call, target.rank, "get"), target.rank, gets))

    def accumulate(self, call: str, origin: Buffer, target: Place, op: Op) -> Transfer:
        if not self._by_atomics(call, target, op):
            return super().accumulate(call, origin, target, op)
        return self._combine(self._why(call, target.rank, "accumulate"), origin, None, target, op)

    def get_accumulate(self, call: str, origin: Buffer, result: Buffer, target: Place, op: Op) -> Transfer:
        if not self._by_atomics(call, target, op):
            return super().get_accumulate(call, origin, result, target, op)
        return self._combine(self._why(call, target.rank, "get and accumulate"), origin, result, target, op)

    def compare_and_swap(self, call: str, origin: Buffer, compare: Buffer, result: Buffer, target: Place) -> Transfer:
        if not self._by_atomics(call, target, None):
            return super().compare_and_swap(call, origin, compare, result, target)
        why = self._why(call, target.rank, "compare and swap")
        size = way.TYPES[target.basic].size
        new, old = (int(self._values(buffer, size)[0]) for buffer in (origin, compare))
        return self._change(why, target, result, [(Atomic.COMPARE_AND_SWAP, new, old)])

    def _by_atomics(self, call: str, target: Place, op: Op | None) -> bool:
        """Return whether the hardware changes such elements. Operations that this process began by the other method on
        the same target have taken effect then.
        """
        size, rank = way.TYPES[target.basic].size, target.rank
        kind = way.TYPES[target.basic].kind
        atomic = Atomic.COMPARE_AND_SWAP if op is None else OPERATIONS.get(id(op))
        reach = self._reaches[rank]
        if (
            reach is not None
            and atomic is not None
            and kind in KINDS
            and all(self._remote.changes(reach, offset, atomic, size) for offset, _ in runs_of(target))
        ):
            if not self._peers[rank].applied:
                super().flush(call, [rank])
            return True
        if rank in self._combined:
            self._settle(call, [rank])
        return False

    def _combine(self, why: Wait, origin: Buffer, result: Buffer | None, target: Place, op: Op) -> Transfer:
        size = way.TYPES[target.basic].size
        operands = [] if op is PREDEFINED["MPI_NO_OP"] else self._values(origin, size).tolist()
        changes = [(OPERATIONS[id(op)], operand, 0) for operand in operands]
        if result is not None:  # elements that the origin has none for are only fetched
            changes += [(Atomic.ADD, 0, 0)] * (target.size // size - len(changes))
        return self._change(why, target, result, changes)

    def _change(
        self, why: Wait, target: Place, result: Buffer | None, changes: Sequence[tuple[Atomic, int, int]]
    ) -> Transfer:
        """Change the elements of a target, each by (what, operand, comparand)."""
        size = way.TYPES[target.basic].size
        reach = self._reaches[target.rank]
        assert reach is not None
        before = Scratch(size * len(changes))
        places = chain.from_iterable(range(offset, offset + length, size) for offset, length in runs_of(target))
        with self._progress.lock:
            operations = [
                self._remote.atomic(reach, place, what, size, operand, compare, before.address + size * number)
                for number, (place, (what, operand, compare)) in enumerate(zip(places, changes, strict=False))
            ]
        for operation in operations:
            hold(operation, before)
        self._combined.add(target.rank)
        return self._keep(target.rank, Accessed(why, target.rank, operations, result, before, size * len(changes)))

    def _values(self, buffer: Buffer, size: int) -> "np.ndarray[tuple[int], np.dtype[np.unsignedinteger[Any]]]":
        """The elements of a buffer, of `size` bytes each, as atomics take them."""
        return self._packed(buffer).data[: buffer.size].view(f"u{size}")

    def _long(self, target: Place) -> bool:
        return self._remote.longest_get is not None and target.size > self._remote.longest_get

    def _scattered(self, target: Place) -> bool:
        return target.datatype.body(0, target.elements).runs > MOST_RUNS

    def _keep(self, rank: int, transfer: Transfer) -> Transfer:
        begun = self._begun[rank]
        if len(begun) > MOST_RUNS:
            self._begun[rank] = begun = [one for one in begun if not one.done or one.error("") is not None]
        begun.append(transfer)
        self._unsettled.add(rank)
        return transfer

    # Completion

    def flush_local(self, call: str, ranks: Iterable[int]) -> None:
        ranks = list(ranks)
        self._end_local(call, ranks)
        super().flush_local(call, ranks)

    def flush(self, call: str, ranks: Iterable[int], fence: bool = False) -> None:
        ranks = list(ranks)
        self._settle(call, ranks)
        super().flush(call, ranks, fence)

    def confirm(self, call: str) -> None:
        self._settle(call, range(len(self._begun)))
        super().confirm(call)

    def _end_local(self, call: str, ranks: Iterable[int]) -> None:
        """Until what was begun for these targets has ended here. Raises the first error."""
        errors = []
        for rank in ranks:
            begun, self._begun[rank] = self._begun[rank], []
            for transfer in begun:
                self._progress.wait(transfer)
                errors.append(transfer.error(call))
        error = next(filter(None, errors), None)
        if error is not None:
            raise error

    def _settle(self, call: str, ranks: Iterable[int]) -> None:
        """Until it has taken effect there. Raises the first error."""
        ranks = list(ranks)
        unsettled = self._unsettled.intersection(ranks)
        with self._progress.lock:
            barriers = [(rank, self._remote.settle(self._peers[rank].world)) for rank in sorted(unsettled)]
        for rank, barrier in barriers:
            self._progress.wait(Pending(self._why(call, rank, "operations"), [barrier]))
        self._unsettled -= unsettled
        self._combined -= unsettled
        self._end_local(call, ranks)
        for rank, barrier in barriers:
            if barrier.error is not None:
                self._fail(call, barrier.error, rank)

    def _fail(self, call: str, error: DeviceError, rank: int) -> None:
        raise device_error(call, error, 0, rank)

    # Locks

    def lock(self, call: str, rank: int, kind: LockType) -> None:
        self._locks.lock(rank, kind, self._why(call, rank, f"{kind.name.lower()} lock of rank {rank}"))
        self._kinds[rank] = kind

    def unlock(self, call: str, ranks: Iterable[int]) -> None:
        ranks = list(ranks)
        try:
            self.flush(call, ranks)
        finally:
            for rank in ranks:
                self._locks.unlock(rank, self._kinds.pop(rank), self._why(call, rank, f"unlock of rank {rank}"))

    # Post, start, complete, wait

    def post(self, ranks: Iterable[int]) -> None:
        for rank in ranks:
            self._posts[rank] += 1
            why = self._why("MPI_Win_post", rank, f"MPI_Win_post for rank {rank}")
            self.words.tell(rank, self._me, POSTED, self._posts[rank], why)

    def await_post(self, call: str, rank: int) -> None:
        why, wanted = self._why(call, rank, f"MPI_Win_post of rank {rank}"), self._peers[rank].used + 1
        self._progress.wait(Counted(why, self.words, POSTED, {rank: wanted}))

    def complete(self, call: str, ranks: Iterable[int]) -> None:
        ranks = list(ranks)
        self.flush(call, ranks)  # all has taken effect before the target learns of the end
        for rank in ranks:
            self._peers[rank].used += 1
            self._completes[rank] += 1
            why = self._why(call, rank, f"MPI_Win_complete for rank {rank}")
            self.words.tell(rank, self._me, COMPLETED, self._completes[rank], why)

    def exposed(self, call: str, ranks: Iterable[int]) -> Pending:
        wanted = {rank: self._peers[rank].completes_seen + 1 for rank in ranks}
        late = [rank for rank, number in wanted.items() if not reached(self.words.get(rank, COMPLETED), number)]
        text = f"MPI_Win_complete of rank {', '.join(map(str, late))}"
        why = self._why(call, late[0] if len(late) == 1 else None, text)
        return Counted(why, self.words, COMPLETED, wanted)

    def withdraw(self) -> None:
        """Other processes reach nothing of this one's any more."""
        with self._progress.lock:
            for exposure in self._exposures:
                self._remote.conceal(exposure)
            self._remote.release(self.words.segment)

    def close(self) -> None:
        self.withdraw()
        super().close()
