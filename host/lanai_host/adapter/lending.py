"""Memory of the program that is lent to the adapter for puts and gets of this process's own."""

from collections import OrderedDict
from dataclasses import dataclass

from lanai_hdl.errors import UserError

from ..bus.base import PAGE_SIZE, Bus, Pinned
from ..config import HostConfig, HostCost
from ..remote import Access
from .exposures import Exposure, Exposures, pages_of

MOST_PAGES = 64  # lent in one piece


@dataclass
class Lent:
    """Whole pages that the adapter may reach. `users`: commands under way that name them."""

    exposure: Exposure
    pinned: Pinned
    users: int = 0


class Lending:
    """Pins pages and exposes them to no other process. They stay lent until others need the room,
    oldest use first."""

    def __init__(self, bus: Bus, exposures: Exposures, costs: HostConfig) -> None:
        self._bus = bus
        self._exposures = exposures
        self._costs = costs
        self._lent: OrderedDict[tuple[int, int, bool], Lent] = OrderedDict()  # first page, pages, writable

    async def lend(self, address: int, size: int, *, writable: bool) -> Lent | None:
        """The lent pages that hold these bytes, with one user more; None if there is no room for
        them now.

        Raises BusError if the memory is not all there.
        """
        first, count = address // PAGE_SIZE, pages_of(address, size)
        key = first, count, writable
        lent = self._lent.get(key)
        if lent is None:
            start, length = first * PAGE_SIZE, count * PAGE_SIZE
            if not await self.make_room(start, length):
                return None
            await self._charge(count, HostCost.PIN_PAGE)
            pinned = await self._bus.pin(start, length, writable)
            exposure = await self._exposures.add(start, length, pinned.pages, Access(0))
            lent = self._lent[key] = Lent(exposure, pinned)
        self._lent.move_to_end(key)
        lent.users += 1
        return lent

    async def make_room(self, address: int, size: int) -> bool:
        """Take back what is not in use until this memory could be exposed. False if it cannot."""
        while True:
            try:
                self._exposures.check_room(address, size)
            except UserError:
                if not await self._take_back_oldest():
                    return False
            else:
                return True

    async def close(self) -> None:
        """Take all back. Nothing may be in use."""
        while await self._take_back_oldest():
            pass

    async def _take_back_oldest(self) -> bool:
        key = next((key for key, lent in self._lent.items() if not lent.users), None)
        if key is None:
            return False
        lent = self._lent.pop(key)
        await self._exposures.remove(lent.exposure)
        await self._charge(len(lent.exposure.pages), HostCost.UNPIN_PAGE)
        await self._bus.unpin(lent.pinned)
        return True

    async def _charge(self, pages: int, each: HostCost) -> None:
        await self._bus.elapse(self._costs.price(HostCost.PIN) + self._costs.price(each, pages))
