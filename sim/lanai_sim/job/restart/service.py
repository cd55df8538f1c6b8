"""A rank's task where the rank is kept restartable."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from lanai_host.config import HostCost, HostCosts
from lanai_host.simulator.protocol import Status

from ..rank_service import NicAccess, Service
from ..request import Request
from .keeper import Keeper, Memory
from .log import Write


class KeptAccess(NicAccess, Memory, Protocol):
    """A rank's NIC, or what it has instead. `revive` is the keeper's."""

    revive: Callable[[], bool]

    def arrived(self) -> bool:
        """The rank has begun to wait. False if not all of its memory that its NIC may reach could be
        read: its process has ended, or the program has unmapped some."""

    async def come_to(self, clock: int) -> None:
        """Wait until the rest of the world has come to this time of the rank's, if it has a time of its own."""

    def delivered(self) -> tuple[Sequence[Write], int]:
        """The rank is about to be answered: what NICs have written into its memory since, and how
        many bytes others have sent it, which the log keeps."""


class KeptService(Service):
    """Before a request is served the rank may have to take a snapshot; what it is told is logged,
    which its host pays for by the byte that others send it."""

    in_one = False

    def __init__(self, keeper: Keeper, kept: KeptAccess, costs: HostCosts, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.keeper = keeper
        self.kept = kept
        self.costs = costs

    def _arrived(self) -> None:
        while not self.kept.arrived() and self.keeper.revive():
            pass

    async def _begin(self, request: Request) -> None:
        if self.keeper.is_due(request):
            await self.kept.come_to(self.rank.clock)
            self.keeper.take(request)

    def _answer(self, payload: bytes, status: Status = Status.OK) -> None:
        keeper, rank = self.keeper, self.rank
        keeper.writes, size = self.kept.delivered()
        keeper.logged += size
        rank.clock = max(rank.clock + self.costs.price(HostCost.LOG_BYTE, size), keeper.ready)
        super()._answer(payload, status)
