"""Directories of walked exposures: pages of this process's memory that name the exposures' pages."""

from collections.abc import Sequence

from lanai_hdl.errors import UserError
from lanai_hdl.remote.packets import word
from lanai_hdl.remote.tables import DIRECTORY_PAGES, DirectoryWord

from ..bus.base import PAGE_SIZE, Bus, BusError, HostBuffer


class Directories:
    """Memory for them. What was given back is used again, once no access can read it any more."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._free: list[HostBuffer] = []
        self._left: list[HostBuffer] = []  # given back, and an access that was allowed before may read them

    def fill(self, pages: Sequence[int]) -> tuple[HostBuffer, ...]:
        """Directories of pages with these bus addresses. Raises BusError if there is no memory for
        them."""
        filled: list[HostBuffer] = []
        for first in range(0, len(pages), DIRECTORY_PAGES):
            try:
                directory = self._free.pop() if self._free else self._bus.allocate(PAGE_SIZE)
            except (UserError, BusError, OSError) as error:
                self._free += filled
                count = directories_of(len(pages))
                raise BusError(
                    f"no memory for the {count} directories of {len(pages)} exposed pages: {error}"
                ) from error
            words = [
                word(DirectoryWord, page=page // PAGE_SIZE, valid=1) for page in pages[first : first + DIRECTORY_PAGES]
            ]
            directory.view[:] = b"".join(one.to_bytes(4, "big") for one in words).ljust(PAGE_SIZE, b"\0")
            filled.append(directory)
        return tuple(filled)

    def give_back(self, directories: Sequence[HostBuffer]) -> None:
        self._left += directories

    def reuse(self) -> None:
        """No access reads any more what was given back."""
        self._free += self._left
        self._left.clear()


def directories_of(pages: int) -> int:
    """Return how many directories name so many pages."""
    return -(-pages // DIRECTORY_PAGES)
