"""Entries of a process's page table at the adapter: which are taken."""

from lanai_hdl.errors import UserError


class PageTable:
    """Runs of entries, first fit."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        self._taken = [False] * entries

    def take(self, count: int) -> int:
        """The first of `count` free entries in a row."""
        run = 0
        for index, taken in enumerate(self._taken):
            run = 0 if taken else run + 1
            if run == count:
                first = index + 1 - count
                self._taken[first : index + 1] = [True] * count
                return first
        raise UserError(
            f"{count} pages do not fit into the adapter's page table: {self._taken.count(False)} of "
            f"{self.entries} entries"
            " (Remote.pages) are free; expose less at a time"
        )

    def give_back(self, first: int, count: int) -> None:
        self._taken[first : first + count] = [False] * count
