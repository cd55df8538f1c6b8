"""Peers that do not answer. The NIC has failed the receives that it had; sends, and what waits on the host, are failed here."""

from ...device import ANY_SOURCE
from .operations import Send, fail
from .parcels import Parcels
from .seat import Seat
from .sending import Sending


class Losing:
    """Ends what a lost rank would leave waiting for ever."""

    def __init__(self, seat: Seat, sending: Sending, parcels: Parcels) -> None:
        self.seat = seat
        self.sending = sending
        self.parcels = parcels

    async def lose(self, rank: int) -> None:
        """A rank does not answer."""
        seat = self.seat
        seat.lost.add(rank)
        for number, operation in list(seat.active.items()):
            if isinstance(operation, Send) and operation.dest == rank:
                await seat.retire_send(number, operation)
                fail(operation, rank)
        for send in self.sending.queues.pop(rank, ()):
            if send.hold is not None:
                await seat.memory.take_back(send.hold, 0)
            fail(send, rank)
        self.fail_waiting(rank)

    def fail_waiting(self, rank: int) -> None:
        """Receives that wait here for a lost rank, or for anyone, would wait for ever."""
        for receive in [r for r in self.parcels.receives if r.wanted_source in (rank, ANY_SOURCE)]:
            self.parcels.receives.remove(receive)
            fail(receive, rank)
