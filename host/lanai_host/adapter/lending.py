"""Memory of the program that is lent to the adapter: for puts and gets of this process's own, and for
peers to write messages to."""

from collections import OrderedDict
from dataclasses import dataclass

from lanai_hdl.errors import UserError

from ..bus.base import PAGE_SIZE, Bus, Pinned
from ..config import HostCost
from ..host_model.meter import Meter
from ..remote import Access
from .exposures import Exposure, Exposures, pages_of

MOST_PAGES = 64  # lent in one piece
OWN_COMMANDS = Access(0)  # only this process names the pages, in its own commands


@dataclass
class Lent:
    """Whole pages that the adapter may reach. `users`: operations that need them now."""

    exposure: Exposure
    pinned: Pinned
    access: Access
    users: int = 0

    def serves(self, address: int, size: int, access: Access, writable: bool) -> bool:
        return self.exposure.covers(address, size) and access in self.access and (self.pinned.writable or not writable)


class Lending:
    """Pins pages and exposes them. They stay lent until others need the room, oldest use first."""

    def __init__(self, bus: Bus, exposures: Exposures, meter: Meter) -> None:
        self._bus = bus
        self._exposures = exposures
        self._meter = meter
        self._lent: OrderedDict[int, Lent] = OrderedDict()  # by number of the exposure
        self.evicted = False  # the last pages that were lent took the room of others

    def lend(
        self, address: int, size: int, *, writable: bool, access: Access = OWN_COMMANDS, lasting: bool = True
    ) -> Lent | None:
        """Lent pages that hold these bytes, with one user more; None if there is no room for them
        now. `access`: what other processes may do there. `lasting`: it must not be withdrawn while
        it is in use, as pages to which others have access may be.

        Raises BusError if the memory is not all there.
        """
        known = (one for one in self._lent.values() if one.access == OWN_COMMANDS or not lasting)
        lent = next((one for one in known if one.serves(address, size, access, writable)), None)
        if lent is None:
            start, pages = address & -PAGE_SIZE, pages_of(address, size)
            length = pages * PAGE_SIZE
            before = len(self._lent)
            if not self.make_room(start, length):
                return None
            self.evicted = len(self._lent) < before
            self._charge(pages, HostCost.PIN_PAGE)
            pinned = self._bus.pin(start, length, writable)
            exposure = self._exposures.add(start, length, pinned.pages, access)
            lent = self._lent[exposure.number] = Lent(exposure, pinned, access)
        self._lent.move_to_end(lent.exposure.number)
        lent.users += 1
        return lent

    def withdraw(self, lent: Lent) -> None:
        """End all access to these pages, whether they are in use or not."""
        del self._lent[lent.exposure.number]
        self._exposures.remove(lent.exposure)
        if lent.access != OWN_COMMANDS:
            self._exposures.settle_accesses()
        self._charge(len(lent.exposure.pages), HostCost.UNPIN_PAGE)
        self._bus.unpin(lent.pinned)

    def take_back_ahead(self) -> None:
        """Take back what is not in use and was used longest ago, so that the next pages need not wait
        for it."""
        self._take_back_oldest()

    def make_room(self, address: int, size: int, *, walked: bool = False) -> bool:
        """Take back what is not in use until this memory could be exposed, or `walked`. False if it
        cannot."""
        while True:
            try:
                self._exposures.check_room(address, size, walked=walked)
            except UserError:
                if not self._take_back_oldest():
                    return False
            else:
                return True

    def close(self) -> None:
        """Take all back. Nothing may be in use."""
        while self._take_back_oldest():
            pass

    def _take_back_oldest(self) -> bool:
        lent = next((lent for lent in self._lent.values() if not lent.users), None)
        if lent is not None:
            self.withdraw(lent)
        return lent is not None

    def _charge(self, pages: int, each: HostCost) -> None:
        self._meter.charge(HostCost.PIN)
        self._meter.spend(each, pages)
