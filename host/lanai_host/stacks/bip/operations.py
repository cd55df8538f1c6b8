"""Sends and messages under way."""

from dataclasses import dataclass

from ...body import Body
from ...bus.base import Pinned
from ...config import HostCost
from ...host_model import meter as operations
from ...host_model.meter import Meter, Receive
from ...scratch_pool import POOL, Bytes
from ..pinning import Pins


class Send(operations.Send):
    """`handle`: its number, by which its receiver answers; 0 for one that needs no answer."""

    __slots__ = ("handle", "region")

    def __init__(self, source: int, dest: int, tag: int, context: int, body: Body, synchronous: bool) -> None:
        super().__init__(source, dest, tag, context, body, synchronous)
        self.handle = 0
        self.region: Region | None = None


@dataclass
class Message:
    """A message that has arrived, or of which its sender has told.

    Attributes:
        data: its bytes; None for a long one.
        handle: the sender's number of it, if that waits for an answer; 0 if not.
        own_send: the synchronous send of this rank that it is.
        order: the queues' to use.
    """

    source: int
    tag: int
    context: int
    length: int
    data: bytes | None = None
    handle: int = 0
    own_send: operations.Send | None = None
    order: int = 0


class Region:
    """Memory of one long message, pinned. Where a body lies in several runs, it is a copy of them. `done`:
    bytes that have been moved. Raises BusError."""

    def __init__(self, pins: Pins, meter: Meter, body: Body, size: int, *, writable: bool) -> None:
        self._pins = pins
        self._meter = meter
        self._body = body
        self.size = size
        self.done = 0
        self._copy: Bytes | None = None
        self.address = body.address
        if body.count_runs(0, size) > 1:
            self._copy, self.address = POOL.take(size)
            if not writable:
                body.pack(0, size, self.address)
                meter.spend(HostCost.COPY, size)
        self.pinned: Pinned = pins.pin(self.address, size, writable)

    def release(self) -> None:
        self._pins.release(self.pinned)

    def write_back(self, receive: Receive) -> None:
        """The bytes that came to a copy go to where the program wants them."""
        if self._copy is not None:
            receive.put(self._meter, 0, self._copy.data)


@dataclass
class Landing:
    """A long message on its way into the memory of its receive. `region` None: its memory cannot be
    written, and nothing is granted."""

    message: Message
    receive: Receive
    region: Region | None
    granted: int = 0  # bytes of the landing that the NIC has
