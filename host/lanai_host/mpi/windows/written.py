"""One-sided communication where the device writes to memory of other ranks (`Device.writes`): puts
need nothing of the target, and all else goes by messages.

A message that follows a put takes effect after it, so both ways keep one order.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...body import Body, Run
from ...operation import Operation, Wait
from ...remote import Segment, Writes
from ..collectives import allgather
from ..collectives.checks import Part
from ..collectives.schedule import run_for
from ..communicator import Communicator
from ..datatypes import BYTE
from ..errors import MpiError
from ..memory import Scratch, address_of, zeros
from ..request import device_error
from .messages import Messages
from .sender import Peer, Service
from .target import Target
from .way import MASK, Buffer, Pending, Place, Transfer, Words

# The waits of the way by the device: for transfers by the device, and for counters that peers write.


class Accessed(Transfer):
    """A transfer by the device. `local`: what ends when the origin's memory is the program's again.

    Args:
        result: where `fetched`, `size` bytes of elements that came, belong.
    """

    def __init__(
        self,
        why: Wait,
        rank: int,
        local: Sequence[Operation],
        result: Buffer | None = None,
        fetched: Scratch | None = None,
        size: int = 0,
    ) -> None:
        self._rank = rank
        self._local = local
        self._result = result
        self._fetched = fetched
        self._size = size
        super().__init__(why, local)

    @property
    def done(self) -> bool:
        if not super().done:
            return False
        result, fetched = self._result, self._fetched
        if result is not None and fetched is not None and not any(one.error for one in self._local):
            self._result = None
            result.datatype.unpack(fetched.address, result.address, result.elements, 0, self._size)
        return True

    def error(self, call: str) -> MpiError | None:
        failed = next((one.error for one in self._local if one.error is not None), None)
        return None if failed is None else device_error(call, failed, 0, self._rank)


class Counted(Pending):
    """Done when some ranks' counters, of which this process has words, have reached numbers."""

    def __init__(self, why: Wait, words: Words, which: int, wanted: Mapping[int, int]) -> None:
        super().__init__(why)
        self._words, self._which, self._wanted = words, which, wanted

    @property
    def done(self) -> bool:
        return not self._late()

    def operations(self) -> list[Operation]:
        return [self._words.changed(rank, self._which) for rank in self._late()]

    def _late(self) -> list[int]:
        counts = {rank: self._words.get(rank, self._which) for rank in self._wanted}
        return [rank for rank, number in self._wanted.items() if not reached(counts[rank], number)]


def reached(count: int, number: int) -> bool:
    """Return whether a counter of 32 bits, which may wrap, has reached a number."""
    return (count - number) & MASK < 1 << 31


def runs_of(target: Place) -> Iterable[tuple[int, int]]:
    """(offset, bytes) of each piece of a target's memory."""
    return target.datatype.body(target.offset, target.elements).segments()


def pieces_of(target: Place, body: Body) -> Iterable[tuple[int, Body]]:
    """The pieces of a target's memory, each with the part of the origin's body that belongs
    there."""
    at = 0
    for offset, length in runs_of(target):
        part = body.part(at, at + length)
        if part.size:
            yield offset, part
        at += length


MOST_RUNS = 64  # pieces of a target that are put one by one
PLACE = 8  # bytes
DONE = Transfer(Wait("MPI_Put"))  # stands for every put without an error


class Written(Messages):
    """`places`: of each rank's memory; 0 where messages must reach it."""

    def __init__(
        self,
        communicator: Communicator,
        target: Target,
        service: Service,
        name: str,
        writes: Writes,
        places: Sequence[int],
    ) -> None:
        super().__init__(communicator, target, service, name)
        self._writes = writes
        self._places = places

    def put(self, call: str, origin: Buffer, target: Place) -> Transfer:
        rank = target.rank
        place = self._places[rank]
        there = target.datatype.body(target.offset, target.elements)
        if not place or rank == self._me or not (isinstance(there, Run) or there.runs <= MOST_RUNS):
            return super().put(call, origin, target)
        put, world, body = self._writes.put, self._peers[rank].world, origin.body()
        with self._progress.lock:
            if isinstance(there, Run):
                puts = [put(world, place + there.start, body)]
            else:
                puts = [put(world, place + at, part) for at, part in pieces_of(target, body)]
        failed = [one for one in puts if one.error is not None]
        if not failed:
            return DONE
        self._peers[rank].sends += failed  # flushes report them
        return Accessed(self._why(call, rank, "put"), rank, failed)

    def flush(self, call: str, ranks: Iterable[int], fence: bool = False) -> None:
        peers = [self._peers[rank] for rank in ranks]
        if any(peer.sends or peer.replies or not peer.applied for peer in peers):
            super().flush(call, [peer.rank for peer in peers], fence)
            return
        landing = [one for one in self._landing(peers) if not one.done]
        if landing:
            rank = peers[0].rank if len(peers) == 1 else None
            self._progress.wait(Pending(self._why(call, rank, "operations"), landing))
        else:
            self._progress.poll()  # as the other way does

    def _landing(self, peers: Iterable[Peer]) -> list[Operation]:
        with self._progress.lock:
            return [self._writes.settle(peer.world) for peer in peers]


def connect_writes(
    communicator: Communicator,
    call: str,
    target: Target,
    service: Service,
    name: str,
    writes: Writes,
    segment: Segment | None,
) -> Written:
    """The way of a new window whose memory the device has allocated, or (None) had no room for. All
    processes of the window call it."""
    own, table = Scratch(PLACE), zeros(communicator.size, np.int64)
    own.data.view(np.int64)[:] = 0 if segment is None else writes.place(segment)
    every = Part(address_of(table), PLACE, BYTE)
    run_for(communicator, call, allgather, Part(own.address, PLACE, BYTE), every)
    return Written(communicator, target, service, name, writes, table.tolist())
