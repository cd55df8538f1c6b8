"""The two queues of one context, where the host matches: receives that wait for a message, messages
that wait for a receive.

MPI's order counts: of several that match, the oldest is taken. Entries are found by source and tag
in hash tables, so the work of the simulation does not grow with the length of a queue. A look in the
queue looks once in the table for each way of using wildcards that is waited for: four times at most.
`compared` says what the simulated processor does."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from ..operation import ANY_SOURCE, ANY_TAG


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
