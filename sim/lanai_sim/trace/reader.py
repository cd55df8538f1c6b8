"""A trace: `Trace.open(path)` gives numpy structured arrays, each row of which names the rows of
others that it belongs to."""

from functools import cached_property
from typing import Any

from lanai_firmware.vocabulary import Room

from ..frames import Library, frame
from . import messages, packets, rooms, tidy, work
from .stored import StoredTrace
from .work import Links


class Trace(StoredTrace):
    """A trace: the content of its file, and what follows from it."""

    @cached_property
    def requests(self) -> Any:
        """Sends and receives as the MPI library asked its device for them; `id` is the row."""
        return self._links.requests

    @cached_property
    def messages(self) -> Any:
        """Messages; `id` is the row."""
        return self._links.messages

    @cached_property
    def lines(self) -> Any:
        """The way of each message that no NIC carried: from leaving to arrival."""
        return self._links.lines

    @cached_property
    def packets(self) -> Any:
        """Packets, both their ends; `id` is the row."""
        return self._links.packets

    @cached_property
    def rooms(self) -> list[Room]:
        """Return the kinds of room that `room` counts, by number: credit, places of a ring, and the like."""
        return rooms.known(self)

    @cached_property
    def room(self) -> Any:
        """Room at receivers that senders have taken (`change` > 0) or got back, by time."""
        return rooms.changes(self, self.rooms, self.packets)

    @cached_property
    def dma(self) -> Any:
        """Transfers of the DMA engines, by node, engine and time."""
        return self._nic[0]

    @cached_property
    def processor(self) -> Any:
        """The activity of each NIC's processor: stretches that follow each other without a gap, by node
        and time."""
        return self._nic[1]

    @cached_property
    def hostbus(self) -> Any:
        """Transactions on each node's host bus."""
        return self._nic[2]

    def frame(self, table: str, library: Library | None = None) -> Any:
        """Return a table as a frame of pandas or polars, with times in microseconds since the ranks began and names in
        place of numbers.

        Args:
            table: its name, such as "messages".
            library: "pandas" or "polars"; None: pandas if it is installed, else polars.
        """
        return frame(tidy.tidy(self, table), library)

    @cached_property
    def _links(self) -> Links:
        found, rows = messages.link(self)
        # Both fill in more columns of the messages.
        return Links(found, rows, messages.link_lines(self, found, rows), *packets.link(self, rows))

    @cached_property
    def _nic(self) -> tuple[Any, Any, Any]:
        return work.link(self, self._links)
