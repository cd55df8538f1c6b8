"""`Remote` for a rank's device, over the adapter of its NIC (SC-01). Nothing here waits.

The device calls `look` whenever it looks for news, and waits for the words of `watched` beside its
own.
"""

from collections.abc import Sequence, Sized
from dataclasses import replace

from lanai_hdl.errors import UserError
from lanai_hdl.remote.packets import ATOMIC_BYTES, WIDE_BYTES, Op
from lanai_hdl.remote.packets import Atomic as Kind

from .. import process_memory as memory
from ..body import Body
from ..bus.base import PAGE_SIZE, Bus, BusError, HostBuffer, KnownPoll, Pinned, Watched
from ..config import HostCost
from ..host_model.meter import Meter
from ..operation import DeviceError, Operation
from ..remote import Access, Atomic, Exposure, Reach, Remote, Segment
from .exposures import Exposure as Exposed
from .exposures import pages_of
from .memory import ALL
from .moving import Moving
from .opened import OpenedAdapter
from .operation import Token
from .transfers import AtomicTransfer, Transfer, WordWatch

KINDS = {
    Atomic.ADD: Kind.ADD,
    Atomic.AND: Kind.AND,
    Atomic.OR: Kind.OR,
    Atomic.XOR: Kind.XOR,
    Atomic.SWAP: Kind.SWAP,
    Atomic.COMPARE_AND_SWAP: Kind.CAS,
}
SIGNALS = 2  # number of the exposure of the segment by which peers signal: the first after the adapter's own


class AdapterRemote(Remote):
    """Transfers are begun in order, and those to one NIC take effect in order. A put is done when
    the adapter no longer needs the body's memory.

    Attributes:
        segment: memory that is this rank's first exposure, which others reach without a token that
            came by message. Of a device that calls `open`.
        under_way: transfers that have not ended. It stays the same object.
        watches: of words that have not changed. It stays the same object.
        by_processor: puts are stores of this processor and gets are its loads (SC-20), through the
            adapter's aperture; else both are commands.
    """

    atomics = frozenset((one, size) for one in Atomic for size in (ATOMIC_BYTES, WIDE_BYTES))
    segment: Segment
    _opened: Exposed

    def __init__(self, bus: Bus, adapter: OpenedAdapter, meter: Meter) -> None:
        self._bus = bus
        self._adapter = adapter
        self._meter = meter
        self._exposures = adapter.exposures
        self._allocated: list[Segment] = []
        self._released: list[Segment] = []
        self.watches: list[WordWatch] = []
        self._pinned: dict[int, Pinned] = {}  # by number of the exposure
        self._moving = Moving(bus, adapter, meter)
        self.under_way: Sized = self._moving.unfinished
        self.by_processor = False

    def open(self, size: int) -> Segment:
        """Open the adapter with a segment of `size` bytes, to which ranks of this node may store."""
        self.segment = segment = self._allocate(size, shared=True)
        self._opened = self._adapter.open(buffer_of(segment), size, ALL)
        return segment

    def listen(self) -> None:
        """Let peers signal to FIFOs in the segment, by a second exposure of it. Call it next after `open`."""
        signals = self._exposures.again(self._opened, Access.APPEND | Access.SIGNAL, key=self._opened.token.key)
        assert signals.number == SIGNALS

    def signal(self, rank: int, offset: int, body: Body, *, again: bool = False) -> Transfer:
        """Begin to interrupt a rank by a record in the FIFO at an offset of its segment, behind all that was begun
        before. `again`: the last one has found it full.
        """
        token = self._adapter.token(rank, self.segment.size)
        token = replace(token, exposure=token.exposure + SIGNALS)
        return self._begin(Transfer(Op.RETRY if again else Op.APPEND, rank, token, offset, body, own=True))

    def first_segment(self, rank: int) -> Reach:
        """The segment of a rank whose segment is as long as this rank's."""
        return Reach(rank, self._adapter.token(rank, self.segment.size))

    def allocate(self, size: int) -> Segment:
        """Zeroed memory."""
        if size < 1:
            raise UserError(f"size={size!r} must be at least 1: there is nothing to allocate")
        for one in self._released:
            if pages_of(one.address, one.size) == pages_of(one.address, size):
                self._released.remove(one)
                buffer_of(one).view[:] = bytes(buffer_of(one).size)
                return Segment(one.address, size, one.handle)
        return self._allocate(size)

    def _allocate(self, size: int, shared: bool = False) -> Segment:
        buffer = self._bus.allocate(size, shared)
        segment = Segment(memory.address_of(buffer.view), size, buffer)
        self._allocated.append(segment)
        return segment

    def release(self, segment: Segment) -> None:
        self._released.append(segment)  # the bus keeps what it has allocated

    def expose(self, address: int, size: int, access: Access) -> Exposure:
        return self._expose(address, size, access)

    def conceal(self, exposure: Exposure) -> None:
        assert isinstance(exposure.handle, Exposed)
        self._conceal(exposure.handle)

    def reach(self, rank: int, token: bytes) -> Reach:
        return Reach(rank, Token.unpack(token))

    def leave(self, reach: Reach) -> None:
        pass  # nothing is kept for it

    def put(self, reach: Reach, offset: int, body: Body) -> Transfer:
        return self._begin(
            Transfer(Op.WRITE, reach.rank, token_of(reach), offset, body, by_processor=self.by_processor)
        )

    def put_own(self, reach: Reach, offset: int, body: Body, *, alone: bool = False) -> Transfer:
        """`put` for the device itself. `settle` waits for it, and does not tell of its error.

        Args:
            alone: a command carries it out, whose status tells of nothing else.
        """
        stores = self.by_processor and not alone
        return self._begin(Transfer(Op.WRITE, reach.rank, token_of(reach), offset, body, own=True, by_processor=stores))

    def get(self, reach: Reach, offset: int, body: Body) -> Transfer:
        return self._begin(Transfer(Op.READ, reach.rank, token_of(reach), offset, body, by_processor=self.by_processor))

    def atomic(
        self, reach: Reach, offset: int, what: Atomic, size: int, operand: int, compare: int, result: int
    ) -> Operation:
        if (what, size) not in self.atomics:
            raise UserError(f"atomic {what.name}: size={size!r} must be {ATOMIC_BYTES} or {WIDE_BYTES} bytes")
        token = token_of(reach)
        return self._begin(AtomicTransfer(reach.rank, token, offset, KINDS[what], size, operand, compare, result))

    def changes(self, reach: Reach, offset: int, what: Atomic, size: int) -> bool:
        return super().changes(reach, offset, what, size) and (token_of(reach).first + offset) % size == 0

    def watch(self, segment: Segment, offset: int, seen: bytes) -> Operation:
        watch = WordWatch(Watched(buffer_of(segment), offset, seen))
        if self._moving.failure is not None:
            watch.error, watch.done = self._moving.failure, True
            return watch
        self.watches.append(watch)
        self._look_at_words()
        return watch

    def settle(self, rank: int | None) -> Operation:
        return self._moving.barrier(rank)

    @property
    def idle(self) -> bool:
        """Nothing is under way."""
        return self._moving.idle

    def known_poll(self, watched: Sequence[Watched], picoseconds: int) -> KnownPoll | None:
        """Return how `watched` may change while this rank only waits, where a poll takes so long: by the good end of
        the one command under way, from which nothing follows. None if that is not so. Call `note` for a word noted."""
        if not self._moving.settled:
            return None
        look = self._adapter.known_poll(watched, picoseconds, first=False)
        return None if look.place < 0 else look

    def note(self) -> bool:
        """`look` at a command's end that has been paid for."""
        self._adapter.note()
        return self.look()

    def watched(self) -> list[Watched]:
        """The words that change when something ends. What was stored ends too: its NOP begins here at the latest."""
        self._moving.settle_stores()
        words = self._moving.watched()
        if self.watches:
            words += [one.word for one in self.watches]
        return words

    def look(self) -> bool:
        """See what has ended, and begin what there is room for. True if anything ended."""
        return self._moving.look() | (bool(self.watches) and self._look_at_words())

    def abandon(self, failure: DeviceError) -> None:
        """The NIC was lost: all that is under way ends with this error, and so does what begins."""
        self._adapter.abandon()
        self._moving.abandon(failure)
        for watch in self.watches:
            watch.error, watch.done = failure, True
        self.watches.clear()

    def close(self) -> None:
        """Take back what was lent. Nothing may be under way."""
        self._adapter.lending.close()

    def _begin(self, transfer: Transfer) -> Transfer:
        self._moving.begin(transfer)
        return transfer

    def _look_at_words(self) -> bool:
        """End the watches of words that have changed. True if there were any."""
        ended = [one for one in self.watches if one.word.now != one.word.seen]
        for one in ended:
            self.watches.remove(one)
            one.done = True
        return bool(ended)

    def _expose(self, address: int, size: int, access: Access) -> Exposure:
        walked = not self._make_room(address, size)
        segment = next((one for one in self._allocated if holds(one, address, size)), None)
        if segment is not None:
            pages = pages_in(segment, address, size)
            exposed = self._exposures.add(address, size, pages, access, walked=walked)
        else:
            self._pay(HostCost.PIN_PAGE, pages_of(address, size))
            pinned = self._bus.pin(address, size, access != Access.READ)
            try:
                exposed = self._exposures.add(address, size, pinned.pages, access, walked=walked)
            except BusError:
                self._bus.unpin(pinned)
                raise
            self._pinned[exposed.number] = pinned
        return Exposure(exposed.token.pack(), exposed)

    def _make_room(self, address: int, size: int) -> bool:
        """Make space in the adapter's page table for the pages, or else for their directories. Return whether it has
        space for the pages. Raises BusError if it has neither.
        """
        lending = self._adapter.lending
        if pages_of(address, size) <= self._exposures.most_pages and lending.make_room(address, size):
            return True
        if not lending.make_room(address, size, walked=True):
            raise BusError(f"the adapter has no room to expose {size} bytes at {address:#x}; conceal others first")
        return False

    def _conceal(self, exposed: Exposed) -> None:
        self._exposures.remove(exposed)
        self._exposures.settle_accesses()
        pinned = self._pinned.pop(exposed.number, None)
        if pinned is not None:
            self._pay(HostCost.UNPIN_PAGE, len(pinned.pages))
            self._bus.unpin(pinned)

    def _pay(self, each: HostCost, pages: int) -> None:
        self._meter.charge(HostCost.PIN)
        self._meter.spend(each, pages)


def token_of(reach: Reach) -> Token:
    assert isinstance(reach.handle, Token)
    return reach.handle


def buffer_of(segment: Segment) -> HostBuffer:
    assert isinstance(segment.handle, HostBuffer)
    return segment.handle


def holds(segment: Segment, address: int, size: int) -> bool:
    """Return whether a range of memory lies in a segment, up to the end of its last page."""
    return segment.address <= address and address + size <= segment.address + buffer_of(segment).size


def pages_in(segment: Segment, address: int, size: int) -> list[int]:
    """Bus addresses of the pages of a range that lies in a segment."""
    first = (address - segment.address) // PAGE_SIZE
    count = pages_of(address, size)
    return [buffer_of(segment).bus_address + PAGE_SIZE * page for page in range(first, first + count)]
