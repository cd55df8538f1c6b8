"""Carries out transfers, by the processor's stores and loads or by a command for each piece. Nothing here waits but a
load.
"""

from collections import deque
from operator import attrgetter

from lanai_hdl.remote.packets import Op, Status

from .. import process_memory
from ..bus.base import PAGE_SIZE, Bus, BusError, Watched
from ..config import HostCost
from ..host_model.meter import Meter
from ..operation import DeviceError, ErrorKind
from .aperture import Storing
from .commands import SENDS, Command
from .lending import MOST_PAGES, Lent
from .opened import OpenedAdapter
from .transfers import AtomicTransfer, Barrier, Piece, Stored, Transfer

LEND_FROM = 1024  # bytes in one run; shorter ones are copied to the staging page of their command
DONE = attrgetter("done")
TRANSACTION = 16  # bytes of the smallest transaction of SCI: a shorter block among others leaves in one of its own


class Moving:
    """Transfers are begun in order, each piece in a command of its own, and commands end in order.

    Long runs are lent to the adapter. What is short or scattered is packed into a page of this
    process's, the command buffer's own, or unpacked from there. Transfers by the processor take no
    command but for bytes that are not whole words. `settle_stores` begins the NOP that tells of them.

    Attributes:
        unfinished: all that is under way. It stays the same object.
        failure: the NIC was lost.
    """

    def __init__(self, bus: Bus, adapter: OpenedAdapter, meter: Meter) -> None:
        self._bus = bus
        self._adapter = adapter
        self._commands = adapter.share()
        self._lending = adapter.lending
        self._meter = meter
        self._queue: deque[Transfer] = deque()  # not all of them begun
        self._storing = Storing(adapter.aperture)
        self._pieces: deque[Piece | Stored] = deque()  # one for each command under way, oldest first
        self.unfinished: set[Transfer] = set()
        self._barriers: list[Barrier] = []
        self.failure: DeviceError | None = None
        self._failures: dict[int, DeviceError] = {}  # of what changes memory there, by rank, since the last barrier

    @property
    def idle(self) -> bool:
        """Nothing is under way."""
        return not self.unfinished

    @property
    def settled(self) -> bool:
        """Nothing follows from the good end of the commands under way: the program has its memory back already."""
        done = all(map(DONE, self.unfinished))
        return done and not (self._queue or self._barriers or self._storing.gathered)

    def watched(self) -> list[Watched]:
        """The words that change when something ends."""
        word = self._commands.watched()
        return [] if word is None else [word]

    def begin(self, transfer: Transfer) -> None:
        limit = transfer.token.size
        if not 0 <= transfer.offset <= limit - transfer.length:
            transfer.fail(ErrorKind.BAD_REQUEST, f"{transfer.what}: the memory has {limit} bytes")
            transfer.end()
            return
        if self.failure is not None:
            transfer.fail(self.failure.kind, self.failure.text)
            transfer.end()
            return
        self.unfinished.add(transfer)
        self._queue.append(transfer)
        self._start_all()

    def barrier(self, rank: int | None) -> Barrier:
        """Done when all that was begun before, for one rank or for all, has ended."""
        barrier = Barrier(rank, {one for one in self.unfinished if rank is None or one.rank == rank})
        if self.failure is not None:
            barrier.error, barrier.done = self.failure, True
            return barrier
        self._barriers.append(barrier)
        self._end_barriers()
        return barrier

    def look(self) -> bool:
        """See what has ended, and begin what there is room for. True if anything ended."""
        ended = self._commands.take_ended()
        for operation in ended:
            piece = self._pieces.popleft()
            assert piece.operation is operation, "commands end in order"
            if isinstance(piece, Stored):
                self._end_stored(piece, operation.status)
            else:
                self._end_piece(piece)
        if self._queue:
            self._start_all()
        if self._storing.gathered is not None:
            self.settle_stores()
        return bool(ended)

    def abandon(self, failure: DeviceError) -> None:
        """The NIC was lost, and all commands end as LOST: what is under way ends with this error."""
        self.failure = failure
        for transfer in self.unfinished:
            transfer.fail(failure.kind, failure.text)
        while not self.idle:
            self.look()

    def settle_stores(self) -> bool:
        """Begin the NOP that tells of what was stored and loaded, if there is a command buffer. True if nothing is left
        of which none tells.
        """
        if self._storing.gathered is None:
            return True
        if self._commands.free is None:
            return False
        stored = self._storing.take()
        assert stored is not None
        what = f"stores and loads at memory of rank {stored.rank}"
        stored.operation = self._commands.start(self._adapter.nothing, what)
        self._pieces.append(stored)
        return True

    def _start_all(self) -> None:
        """Begin what there are command buffers for."""
        while self._queue:
            transfer = self._queue[0]
            if transfer.begun < transfer.length:
                try:
                    if not self._start_next(transfer):
                        return
                except BusError as error:
                    transfer.fail(ErrorKind.BUS_ERROR, str(error))
            if transfer.begun == transfer.length:
                self._queue.popleft()
                if transfer.op in SENDS and not transfer.lends:
                    transfer.end()  # all of it has been copied
                self._finish(transfer)

    def _start_next(self, transfer: Transfer) -> bool:
        """Begin the next piece. False if it needs a command buffer, and there is none. Raises BusError if the program's
        memory cannot be reached.
        """
        size = 0 if isinstance(transfer, AtomicTransfer) else self._storing.bytes_of(transfer)
        if size:
            if not self._storing.joins(transfer) and not self.settle_stores():
                return False
            self._storing.move(transfer, size)
        elif self._commands.free is None:
            return False
        else:
            self._start_piece(transfer, self._commands.free)
        return True

    def _start_piece(self, transfer: Transfer, buffer: int) -> None:
        if isinstance(transfer, AtomicTransfer):
            self._start(transfer, transfer.command(), transfer.length)
            return
        few = self._storing.command_bytes(transfer)
        if few is not None:
            self._start_staged(transfer, buffer, transfer.begun + few)
            return
        address, run = next(transfer.body.segments(transfer.begun))
        lent = None
        if run >= LEND_FROM:
            run = min(run, MOST_PAGES * PAGE_SIZE - address % PAGE_SIZE)
            lent = self._lending.lend(address, run, writable=transfer.op is Op.READ)
        if lent is None:
            self._start_staged(transfer, buffer)
            return
        transfer.lends = True
        command = transfer.piece(run, lent.exposure.number, lent.exposure.offset(address))
        self._start(transfer, command, transfer.begun + run, lent)

    def _start_staged(self, transfer: Transfer, buffer: int, until: int | None = None) -> None:
        begin = transfer.begun
        end, short = self._scattered(transfer) if until is None else (until, 0)
        staging, stage = self._adapter.staging, self._adapter.stage(buffer)
        if transfer.op in SENDS:
            transfer.body.pack(begin, end, stage)
            self._meter.spend(HostCost.COPY, end - begin)
            self._meter.spend(HostCost.SHORT_BLOCK, short)
        command = transfer.piece(end - begin, staging.number, staging.offset(stage))
        self._start(transfer, command, end, stage=stage)

    def _scattered(self, transfer: Transfer) -> tuple[int, int]:
        """Up to where the next bytes go through a staging page, and how many of their blocks are too
        short for a transaction."""
        first = end = transfer.begun
        several, short = transfer.body.runs > 1, 0
        for _, run in transfer.body.segments(first):
            if end > first and run >= LEND_FROM:
                break
            short += several and run < TRANSACTION
            end += run
            if end - first >= PAGE_SIZE:
                return first + PAGE_SIZE, short
        return end, short

    def _start(self, transfer: Transfer, command: Command, end: int, lent: Lent | None = None, stage: int = 0) -> None:
        operation = self._commands.start(command, transfer.what)
        self._pieces.append(Piece(operation, transfer, transfer.begun, end, lent, stage))
        transfer.begun = end
        transfer.under_way += 1

    def _why_lost(self, rank: int, status: Status) -> str | None:
        """Return why a rank can be reached no more, if a command that failed may have failed for that."""
        return None if status is Status.OK else self._bus.lost().get(rank)

    def _end_piece(self, piece: Piece) -> None:
        transfer, operation = piece.transfer, piece.operation
        assert operation.status is not None
        transfer.end_piece(operation.status, self._why_lost(transfer.rank, operation.status))
        if piece.lent is not None:
            piece.lent.users -= 1
        if operation.status is Status.OK:
            try:
                self._deliver(piece)
            except BusError as error:
                transfer.fail(ErrorKind.BUS_ERROR, str(error))
        self._finish(transfer)

    def _end_stored(self, stored: Stored, status: Status | None) -> None:
        assert status is not None
        for transfer in stored.transfers:
            transfer.end_piece(status, self._why_lost(transfer.rank, status))
            self._finish(transfer)

    def _deliver(self, piece: Piece) -> None:
        """Copy what was fetched to where it belongs. Raises BusError."""
        transfer = piece.transfer
        if isinstance(transfer, AtomicTransfer):
            process_memory.write(transfer.result, piece.operation.value.to_bytes(transfer.length, "little"))
        elif transfer.op is Op.READ and piece.lent is None:
            transfer.body.unpack(piece.begin, piece.end, piece.stage)
            self._meter.spend(HostCost.COPY, piece.end - piece.begin)

    def _finish(self, transfer: Transfer) -> None:
        if not transfer.finished or transfer not in self.unfinished:
            return
        self.unfinished.remove(transfer)
        if transfer.error is not None and transfer.op is not Op.READ and not transfer.own:
            self._failures.setdefault(transfer.rank, transfer.error)
        if not transfer.done:
            self._meter.spend(HostCost.COMPLETE)
            transfer.end()
        if self._barriers:
            for barrier in self._barriers:
                barrier.waits_for.discard(transfer)
            self._end_barriers()

    def _end_barriers(self) -> None:
        for barrier in [one for one in self._barriers if not one.waits_for]:
            self._barriers.remove(barrier)
            ranks = list(self._failures) if barrier.rank is None else [barrier.rank]
            errors = [self._failures.pop(rank) for rank in ranks if rank in self._failures]
            barrier.error = errors[0] if errors else None
            barrier.done = True
