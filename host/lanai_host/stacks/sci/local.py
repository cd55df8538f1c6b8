"""The segments of ranks on the same node, which this rank's processor stores to (SC-08)."""

from lanai_hdl.remote.packets import Op

from ...adapter.attachment import Attachment
from ...adapter.boot import WINDOW
from ...adapter.remote import buffer_of
from ...adapter.transfers import Transfer
from ...body import Body
from ...bus.base import Bus, BusError
from ...config import HostCost
from ...host_model.meter import Meter
from ...operation import ErrorKind
from ...remote import Segment

STORE = 16384  # bytes copied at a time


class LocalSegment:
    """The segment of `rank`, on this rank's node. Each process of a node allocates its segment first,
    so segments lie alike in the bus windows of their processes."""

    local = True

    def __init__(self, bus: Bus, attachment: Attachment, meter: Meter, own: Segment, rank: int) -> None:
        self._bus = bus
        self._meter = meter
        self._rank = rank
        self._token = attachment.token(rank, own.size)
        apart = attachment.places[rank].process - attachment.place.process
        self._address = buffer_of(own).bus_address + apart * WINDOW
        self._was_there = False

    def put(self, offset: int, body: Body, alone: bool = False) -> Transfer:
        """Copy a body there. It is done when this returns."""
        transfer = Transfer(Op.WRITE, self._rank, self._token, offset, body)
        try:
            for begin in range(0, body.size, STORE):
                part = body.part(begin, min(begin + STORE, body.size)).read()
                self._store(transfer, offset + begin, part)
        except BusError as error:
            transfer.fail(ErrorKind.BUS_ERROR, str(error))
        transfer.begun = transfer.length
        transfer.end()
        return transfer

    def interrupt(self) -> None:
        """Ranks of a node do not interrupt each other."""

    def _store(self, transfer: Transfer, offset: int, data: bytes) -> None:
        self._meter.spend(HostCost.COPY, len(data))
        try:
            self._bus.store(self._address + offset, data)
        except BusError as error:
            kind = ErrorKind.PEER_FAILED if self._was_there else ErrorKind.BAD_REQUEST
            transfer.fail(kind, f"{transfer.what}: {error}")
        else:
            self._was_there = True


def is_local(attachment: Attachment, rank: int) -> bool:
    return attachment.places[rank].node == attachment.place.node
