"""One-sided communication where the device writes to memory of other ranks (`Device.writes`): puts
need nothing of the target, and all else goes by messages.

A message that follows a put takes effect after it, so both ways keep one order.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from ...body import Run
from ...operation import Operation
from ...remote import Segment, Writes
from ...wait import Wait
from ..collectives import allgather
from ..collectives.calls import run_for
from ..collectives.parts import Part
from ..communicator import Communicator
from ..datatypes import BYTE
from ..memory import Scratch, address_of, zeros
from .direct import Accessed, pieces_of
from .messages import Messages
from .sender import Peer
from .service import Service
from .target import Target
from .way import Buffer, Pending, Place, Transfer

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
