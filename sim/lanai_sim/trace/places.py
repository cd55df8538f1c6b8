"""Messages of a device whose ranks put to places in each other's memory by the commands of an adapter (`Places`)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lanai_firmware.vocabulary import Places
from lanai_hdl.remote.packets import Op
from lanai_hdl.remote.tables import EXPOSURES

from .puts import FollowPuts, room
from .requests import Book, Request


class FollowPlaces:
    """The state of the writes so far. `plans`: what is known of each node's heap."""

    def __init__(
        self, places: Places, book: Book, puts: FollowPuts, packets: Any, plans: Sequence[Mapping[str, Any]]
    ) -> None:
        self._places = places
        self._book = book
        self._puts = puts
        self._packets = packets
        self._plans = plans

    def run(self, requests: Iterable[Request]) -> None:
        """All requests of the run, in the order in which they left."""
        for request in requests:
            if request.taken and request.op == Op.WRITE:
                self._take(request)

    def _take(self, request: Request) -> None:
        packet = self._packets[request.row]
        seen = self._places.see(
            request.data,
            request.exposure % EXPOSURES,
            request.offset,
            request.length,
            int(packet["source"]),
            self._plans[request.node],
        )
        self._book.give(request, self._puts.message(packet, seen, request.node))
        self._book.room(request.row, *room(seen))
