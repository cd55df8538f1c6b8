"""Remote interrupts (SC-21): a peer that needs this rank's processor for its one-sided communication interrupts the
program's own work. Inside the library the rank looks by itself, and takes the signals as it does.
"""

from collections.abc import Callable, Iterable

from ...adapter.fifo import Fifo
from ...adapter.remote import AdapterRemote, buffer_of
from ...adapter.signals import interrupt_price, work
from ...adapter.transfers import Transfer
from ...bus.base import PAGE_SIZE, Bus, Watched
from ...config import HostConfig
from ...operation import ErrorKind
from .layout import Layout
from .operations import Held

SIGNAL = bytes(4)  # a record must have bytes; these say nothing


class Interrupts:
    """The signals of this rank to others, and those to it."""

    def __init__(self, bus: Bus, remote: AdapterRemote, layout: Layout, payload: int, costs: HostConfig) -> None:
        self._bus = bus
        self._remote = remote
        self._offset = layout.signals
        self._price = interrupt_price(costs)
        self._fifo = Fifo(buffer_of(remote.segment), layout.signals, layout.signals // PAGE_SIZE + 1, 1, payload)
        self._last: dict[int, Transfer] = {}  # by rank
        self._contexts: frozenset[int] = frozenset()

    def add(self, contexts: Iterable[int]) -> None:
        """Messages in these contexts interrupt their receivers."""
        self._contexts = self._contexts.union(contexts)

    @property
    def expected(self) -> bool:
        """Messages in some contexts interrupt their receivers."""
        return bool(self._contexts)

    def needed(self, context: int) -> bool:
        return context in self._contexts

    def send(self, rank: int) -> Transfer:
        """Begin to interrupt a rank, behind all that was put to it before."""
        last = self._last.get(rank)
        full = last is not None and last.error is not None and last.error.kind is ErrorKind.BAD_REQUEST
        self._last[rank] = signal = self._remote.signal(rank, self._offset, Held(SIGNAL), again=full)
        return signal

    def take(self) -> list[tuple[int, int]]:
        """Take the signals that have come: this rank looks at what its peers have written. Return the origins of the
        signals: NICs, and processes of their hosts."""
        origins = []
        while self._fifo.look():
            origins.append(self._fifo.sender())
            self._fifo.drop()
        return origins

    def watched(self) -> Watched:
        """Return the word that changes when a signal comes."""
        return self._fifo.watched()

    def work(self, picoseconds: int, interrupted: Callable[[], None]) -> None:
        """The program's own work. `interrupted` is called at each signal, which it takes."""
        work(self._bus, picoseconds, self._fifo, interrupted, self._price)
