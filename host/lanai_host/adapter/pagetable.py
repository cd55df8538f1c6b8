"""Entries of a process's page table at the adapter: which are taken."""

from lanai_hdl.errors import UserError


class PageTable:
    """Runs of entries, first fit."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        self._taken = [False] * entries

    def take(self, count: int) -> int:
        """The first of `count` free entries in a row."""
        first = self._find(count)
        if first is None:
            raise self._full(count)
        self._taken[first : first + count] = [True] * count
        return first

    def check_room(self, count: int) -> None:
        """Raise UserError if there are no `count` free entries in a row."""
        if not self.has_room(count):
            raise self._full(count)

    def has_room(self, count: int) -> bool:
        """Return whether there are `count` free entries in a row."""
        return self._find(count) is not None

    def _find(self, count: int) -> int | None:
        run = 0
        for index, taken in enumerate(self._taken):
            run = 0 if taken else run + 1
            if run == count:
                return index + 1 - count
        return None

    def _full(self, count: int) -> UserError:
        return UserError(
            f"{count} entries do not fit into the adapter's page table: {self._taken.count(False)} of "
            f"{self.entries} entries"
            " (Remote.pages) are free; expose less at a time"
        )

    def give_back(self, first: int, count: int) -> None:
        self._taken[first : first + count] = [False] * count
