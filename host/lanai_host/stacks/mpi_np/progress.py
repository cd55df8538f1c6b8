"""Looking at what the NIC has written, and sleeping until it writes something (NP-49)."""

from collections.abc import Sequence

from ...config import HostCost
from ...operation import Operation
from ...wait import Wait
from .receiving import Receiving
from .records import Records
from .sending import Sending
from .share import NicShare
from .taking import Taking


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

    async def look(self) -> None:
        """Look at what the NIC has written, and use the room that this may have made."""
        self.share.meter.charge(HostCost.POLL)
        await self.records.handle_all()
        await self.share.meter.pay()
        await self.use_room()

    async def use_room(self) -> None:
        """Put on the NIC what waits here and has room there now."""
        if self.receiving.host_queues.waiting:
            await self.receiving.sort()
        if self.sending.queues:
            await self.sending.flush()

    async def look_once(self) -> None:
        """A look that lets time pass, so that a program which only tests sees the world move."""
        news = self.records.news
        await self.look()
        if self.records.news == news:
            await self.look_again(news)

    async def look_again(self, news: int) -> None:
        """The rest of `look_once`, if a look has brought nothing beyond these `news`."""
        await self.share.bus.catch_up()
        await self.look()
        if self.records.news == news and not await self.taking.take_off_nic() and self.share.endpoint.silent:
            await self.share.endpoint.examine()
            await self.records.hear()

    async def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        """`Device.wait`."""
        while True:
            await self.look()
            if operations is None:
                if self.records.news != self.records.seen:
                    self.records.seen = self.records.news
                    return
            elif any(operation.done for operation in operations):
                return
            await self.rest(why)

    async def rest(self, why: Wait) -> None:
        """Nothing is done yet: make room on the NIC, or sleep until it writes a record."""
        if not await self.taking.take_off_nic():
            await self._sleep(why)

    async def empty(self) -> None:
        """Put what is left of the sends on the NIC."""
        queues = self.sending.queues
        while queues:
            await self.look()
            if queues:
                await self.rest(Wait("sending what is left before the end"))

    async def _sleep(self, why: Wait) -> None:
        """Sleep until the NIC writes a record. If operations wait for a request slot, ask for a
        record when one is free, and look once more whether they go on: one that is done now may be the
        one that the caller waits for."""
        waiting = self._waiting
        if waiting:
            await self.share.endpoint.alarm()
            await self.use_room()
        if self._waiting == waiting:
            await self.records.sleep(why)

    @property
    def _waiting(self) -> int:
        """Operations that wait here for room on the NIC."""
        return self.receiving.host_queues.waiting + sum(map(len, self.sending.queues.values()))
