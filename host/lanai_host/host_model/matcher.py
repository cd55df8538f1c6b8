"""The match of messages and receives, where the host matches."""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from ..config import HostCost, Queue
from ..device import Envelope, Pending
from ..operation import ANY_SOURCE, ANY_TAG
from .meter import Meter, Receive

# The number of envelopes that the processor compares when it looks for one in a queue (`HostCosts.queue`).


class Compared(Protocol):
    """The order of a queue's entries, of all contexts. An entry is known by its number, which grows."""

    def add(self) -> int:
        """Return the number of a new entry, which is behind all others."""

    def remove(self, number: int) -> None:
        """The entry has left the queue."""

    def count(self, found: int | None, looks: int) -> int:
        """Return how many envelopes are compared to find this entry, or to find none. `looks`: in hash
        tables."""


class List:
    """A list of all contexts, searched from its oldest entry on, as MPICH's ADI has it."""

    def __init__(self) -> None:
        self._next = 0
        self._numbers: list[int] = []  # of the entries, oldest first

    def add(self) -> int:
        self._next += 1
        self._numbers.append(self._next)
        return self._next

    def remove(self, number: int) -> None:
        del self._numbers[bisect_left(self._numbers, number)]

    def count(self, found: int | None, looks: int) -> int:
        return len(self._numbers) if found is None else bisect_left(self._numbers, found) + 1


class Hash:
    """A hash table for each context and each way of using wildcards."""

    def __init__(self) -> None:
        self._next = 0

    def add(self) -> int:
        self._next += 1
        return self._next

    def remove(self, number: int) -> None:
        return

    def count(self, found: int | None, looks: int) -> int:
        return looks


KINDS: dict[Queue, type[List] | type[Hash]] = {Queue.LIST: List, Queue.HASH: Hash}


def compared(queue: Queue) -> Compared:
    """Return a new order of entries."""
    return KINDS[queue]()


# The two queues of one context, where the host matches: receives that wait for a message, messages
# that wait for a receive.
#
# MPI's order counts: of several that match, the oldest is taken. Entries are found by source and tag
# in hash tables, so the work of the simulation does not grow with the length of a queue. A look in the
# queue looks once in the table for each way of using wildcards that is waited for: four times at most.
# `compared` says what the simulated processor does.


class Entry(Protocol):
    """An entry of a queue. `order` grows from entry to entry; its owner sets it."""

    source: int
    tag: int
    order: int


E = TypeVar("E", bound=Entry)
_Key = tuple[int, int]
_Wild = tuple[bool, bool]  # whether source and tag are any


class _Table(Generic[E]):
    """Entries by key; those of one key in their order."""

    def __init__(self) -> None:
        self._lists: dict[_Key, OrderedDict[int, E]] = {}

    def __iter__(self) -> Iterator[E]:
        """All entries, in no order."""
        return (entry for found in self._lists.values() for entry in found.values())

    def add(self, key: _Key, entry: E) -> None:
        found = self._lists.get(key)
        if found is None:
            found = self._lists[key] = OrderedDict()
        found[entry.order] = entry

    def remove(self, key: _Key, entry: E) -> None:
        found = self._lists[key]
        del found[entry.order]
        if not found:
            del self._lists[key]

    def oldest(self, key: _Key) -> E | None:
        found = self._lists.get(key)
        return None if found is None else next(iter(found.values()))


class Posted(Generic[E]):
    """Receives. Their source and tag may be wildcards."""

    def __init__(self) -> None:
        self._table: _Table[E] = _Table()
        self._count: dict[_Wild, int] = {}  # receives by their wildcards

    def __len__(self) -> int:
        return sum(self._count.values())

    def __iter__(self) -> Iterator[E]:
        """All receives, the oldest first."""
        return iter(sorted(self._table, key=lambda receive: receive.order))

    def add(self, receive: E) -> None:
        self._table.add((receive.source, receive.tag), receive)
        wild = _wild(receive.source, receive.tag)
        self._count[wild] = self._count.get(wild, 0) + 1

    def take(self, source: int, tag: int) -> tuple[E | None, int]:
        """Remove and return the oldest receive that a message matches, and how many looks that took."""
        found: E | None = None
        looks = len(self._count)
        for wild in self._count:
            other = self._table.oldest(_key(source, tag, wild))
            if other is not None and (found is None or other.order < found.order):
                found = other
        if found is not None:
            self.remove(found)
        return found, looks

    def remove(self, receive: E) -> None:
        self._table.remove((receive.source, receive.tag), receive)
        wild = _wild(receive.source, receive.tag)
        self._count[wild] -= 1
        if not self._count[wild]:
            del self._count[wild]


class Unexpected(Generic[E]):
    """Messages. Each combination of wildcards has a table of its own, made when a program first
    asks with it."""

    def __init__(self) -> None:
        self._all: OrderedDict[int, E] = OrderedDict()
        self._tables: dict[_Wild, _Table[E]] = {}  # by the wildcards of receives

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[E]:
        """All messages, the oldest first."""
        return iter(self._all.values())

    def add(self, message: E) -> None:
        self._all[message.order] = message
        for wild, table in self._tables.items():
            table.add(_key(message.source, message.tag, wild), message)

    def find(self, source: int, tag: int) -> tuple[E | None, int]:
        """Return the oldest message that a receive matches, and how many looks that took."""
        if not self._all:
            return None, 0
        wild = _wild(source, tag)
        table = self._tables.get(wild)
        if table is None:
            table = self._tables[wild] = _Table()
            for message in self._all.values():
                table.add(_key(message.source, message.tag, wild), message)
        return table.oldest((source, tag)), 1

    def remove(self, message: E) -> None:
        del self._all[message.order]
        for wild, table in self._tables.items():
            table.remove(_key(message.source, message.tag, wild), message)


def _wild(source: int, tag: int) -> _Wild:
    return source == ANY_SOURCE, tag == ANY_TAG


def _key(source: int, tag: int, wild: _Wild) -> _Key:
    return ANY_SOURCE if wild[0] else source, ANY_TAG if wild[1] else tag


class ArrivedMessage(Entry, Protocol):
    """A message that has arrived, or of which its sender has told."""

    context: int
    length: int


R = TypeVar("R", bound=Receive)
M = TypeVar("M", bound=ArrivedMessage)


class Matcher(Generic[R, M]):
    """Receives and messages that have not met: two queues, each looked at in the program's order.

    Each look charges the meter one MATCH for each envelope that is compared. `begin` and `arrive` pay; the caller of
    the others does.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._posted: dict[int, Posted[R]] = {}  # by context
        self._arrived: dict[int, Unexpected[M]] = {}
        self._receives = compared(meter.costs.queue)
        self._messages = compared(meter.costs.queue)
        self._searches = meter.costs.queue is Queue.LIST
        self.held = 0  # messages that wait
        self.waiting = 0  # receives that wait

    # Receives.

    def find(self, source: int, tag: int, context: int) -> M | None:
        """Return the oldest message that such a receive matches. It stays in its queue."""
        arrived = self._arrived.get(context)
        found, looks = arrived.find(source, tag) if arrived else (None, 0)
        envelopes = self._messages.count(None if found is None else found.order, looks)
        if envelopes:
            self._meter.charge(HostCost.MATCH, envelopes)
        return found

    def remove(self, message: M) -> None:
        """A receive takes the message."""
        self._arrived[message.context].remove(message)
        self._messages.remove(message.order)
        self.held -= 1

    def post(self, receive: R) -> None:
        """No message is there for the receive: it waits."""
        receive.order = self._receives.add()
        self.waiting += 1
        posted = self._posted.get(receive.context)
        if posted is None:
            posted = self._posted[receive.context] = Posted()
        posted.add(receive)
        receive.posted = True

    def begin(self, receive: R) -> M | None:
        """Return the message that a new receive takes; without one, the receive waits."""
        message = self.find(receive.source, receive.tag, receive.context)
        if message is None:
            self.post(receive)
        else:
            self.remove(message)
        self._meter.pay()
        return message

    def withdraw(self, receive: R) -> None:
        """The receive waits no longer."""
        self._posted[receive.context].remove(receive)
        self._gone(receive)

    # Messages.

    def meet(self, source: int, tag: int, context: int) -> R | None:
        """Return the oldest receive that such a message matches. It leaves its queue."""
        posted = self._posted.get(context)
        receive, looks = (None, 0) if posted is None else posted.take(source, tag)
        envelopes = self._receives.count(None if receive is None else receive.order, looks)
        if envelopes:
            self._meter.charge(HostCost.MATCH, envelopes)
        if receive is not None:
            self._gone(receive)
        return receive

    def keep(self, message: M) -> None:
        """No receive is there for the message: it waits."""
        message.order = self._messages.add()
        self.held += 1
        arrived = self._arrived.get(message.context)
        if arrived is None:
            arrived = self._arrived[message.context] = Unexpected()
        arrived.add(message)

    def arrive(self, message: M) -> R | None:
        """Return the receive that takes a new message; without one, the message waits."""
        receive = self.meet(message.source, message.tag, message.context)
        if receive is None:
            self.keep(message)
        self._meter.pay()
        return receive

    # What waits.

    def idle(self, context: int) -> bool:
        """Is nothing of this context in a queue?"""
        if not self.held and not self.waiting:
            return True
        return not self._posted.get(context) and not self._arrived.get(context)

    def idle_envelopes(self) -> tuple[int, int]:
        """Return how many envelopes are compared for the first receive of an idle context, and for its
        message, which comes later."""
        return (self.held, self.waiting + 1) if self._searches else (0, 1)

    @property
    def receives(self) -> Iterator[R]:
        """The receives that wait, the oldest first within a context."""
        return (receive for posted in self._posted.values() for receive in posted)

    @property
    def messages(self) -> Iterator[M]:
        """The messages that wait, the oldest first within a context."""
        return (message for arrived in self._arrived.values() for message in arrived)

    def posted(self) -> list[Pending]:
        """Describe the receives that wait."""
        return [Pending(False, one.source, one.tag, one.context, one.body.size) for one in self.receives]

    def unexpected(self) -> list[Envelope]:
        """Describe the messages that wait."""
        return [Envelope(one.source, one.tag, one.context, one.length) for one in self.messages]

    def _gone(self, receive: R) -> None:
        self._receives.remove(receive.order)
        self.waiting -= 1
        receive.posted = False
