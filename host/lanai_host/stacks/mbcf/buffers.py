"""The program's memory, exposed to the adapter for as long as there is room: what was used longest
ago makes place."""

from collections import OrderedDict
from dataclasses import dataclass

from ...adapter.exposures import Exposure, Exposures
from ...bus.base import PAGE_SIZE, Bus, BusError, Pinned
from ...config import HostCost, HostCosts
from ...errors import UserError
from ...remote import Access

MOST = 8  # exposures


@dataclass
class Lent:
    """Whole pages of the program's memory. `users` operations need them now."""

    exposure: Exposure
    pinned: Pinned
    access: Access
    users: int = 0


class Buffers:
    """Exposures of memory that messages lie in, or are written to."""

    def __init__(self, bus: Bus, exposures: Exposures, costs: HostCosts) -> None:
        self._bus = bus
        self._exposures = exposures
        self._costs = costs
        self._lent: OrderedDict[int, Lent] = OrderedDict()  # by number of the exposure, oldest use first

    async def lend(self, address: int, size: int, access: Access) -> Lent | None:
        """Expose these bytes until `give_back`. None if there is no room, or not all of them may be
        accessed so."""
        for number, lent in self._lent.items():
            if lent.exposure.covers(address, size) and access in lent.access:
                self._lent.move_to_end(number)
                lent.users += 1
                return lent
        first = address & -PAGE_SIZE
        pages = (address + size - 1) // PAGE_SIZE - first // PAGE_SIZE + 1
        if not await self._make_room(first, pages * PAGE_SIZE):
            return None
        await self._pay((HostCost.PIN, 1), (HostCost.PIN_PAGE, pages))
        try:
            pinned = await self._bus.pin(first, pages * PAGE_SIZE, Access.WRITE in access)
        except BusError:
            return None
        exposure = await self._exposures.add(first, pages * PAGE_SIZE, pinned.pages, access)
        lent = self._lent[exposure.number] = Lent(exposure, pinned, access, 1)
        return lent

    def give_back(self, lent: Lent) -> None:
        lent.users -= 1

    async def close(self) -> None:
        for lent in list(self._lent.values()):
            await self.withdraw(lent)

    async def _make_room(self, address: int, size: int) -> bool:
        while True:
            if len(self._lent) < MOST:
                try:
                    self._exposures.check_room(address, size)
                    return True
                except UserError:
                    pass
            unused = next((lent for lent in self._lent.values() if not lent.users), None)
            if unused is None:
                return False
            await self.withdraw(unused)

    async def withdraw(self, lent: Lent | None) -> None:
        """End all access to this memory, whether it is in use or not."""
        if lent is None:
            return
        del self._lent[lent.exposure.number]
        await self._exposures.remove(lent.exposure)
        await self._exposures.settle_accesses()
        await self._pay((HostCost.PIN, 1), (HostCost.UNPIN_PAGE, len(lent.pinned.pages)))
        await self._bus.unpin(lent.pinned)

    async def _pay(self, *work: tuple[HostCost, int]) -> None:
        for what, count in work:
            await self._bus.elapse(self._costs.price(what, count))
