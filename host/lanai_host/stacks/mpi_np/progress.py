"""Looking at what the NIC has written, and sleeping until it writes something (NP-49)."""

from collections.abc import Sequence
from operator import attrgetter

from ...config import HostCost
from ...operation import Operation, Wait
from .receiving import Receiving
from .records import Records
from .sending import Sending
from .share import NicShare
from .taking import Taking

DONE = attrgetter("done")


class Progress:
    """Keeps everything moving."""

    def __init__(
        self, share: NicShare, records: Records, sending: Sending, receiving: Receiving, taking: Taking
    ) -> None:
        self.share = share
        self.records = records
        self.sending = sending
        self.receiving = receiving
        self.taking = taking

    def look(self) -> None:
        """Look at what the NIC has written, and use the room that this may have made."""
        self.share.meter.charge(HostCost.POLL)
        self.records.handle_all()
        self.share.meter.pay()
        self.use_room()

    def use_room(self) -> None:
        """Put on the NIC what waits here and has room there now."""
        if self.receiving.host_queues.waiting:
            self.receiving.sort()
        if self.sending.queues:
            self.sending.flush()

    def look_once(self) -> None:
        """A look that lets time pass, so that a program which only tests sees the world move."""
        news = self.records.news
        self.look()
        if self.records.news != news:
            return
        self.share.bus.catch_up()
        self.look()
        if self.records.news == news and not self.taking.take_off_nic() and self.share.endpoint.silent:
            self.share.endpoint.examine()
            self.records.hear()

    def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        """`Device.wait`."""
        while True:
            self.look()
            if operations is None:
                if self.records.news != self.records.seen:
                    self.records.seen = self.records.news
                    return
            elif any(map(DONE, operations)):
                return
            self.rest(why)

    def rest(self, why: Wait) -> None:
        """Nothing is done yet: make room on the NIC, or sleep until it writes a record."""
        if not self.taking.take_off_nic():
            self._sleep(why)

    def empty(self) -> None:
        """Put what is left of the sends on the NIC."""
        queues = self.sending.queues
        while queues:
            self.look()
            if queues:
                self.rest(Wait("sending what is left before the end"))

    def _sleep(self, why: Wait) -> None:
        """Sleep until the NIC writes a record. If operations wait for a request slot, ask for a
        record when one is free, and look once more whether they go on: one that is done now may be the
        one that the caller waits for."""
        waiting = self._waiting
        if waiting:
            self.share.endpoint.alarm()
            self.use_room()
            if self._waiting != waiting:
                return
        self.records.sleep(why)

    @property
    def _waiting(self) -> int:
        """Operations that wait here for room on the NIC."""
        return self.receiving.host_queues.waiting + sum(map(len, self.sending.queues.values()))
