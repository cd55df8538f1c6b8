"""One process follows another in a rank's place on its NIC: what the second must know, since the
NIC goes on where it was.

The NIC knows of no process. It takes requests from a chain of slots and writes records with
numbers that go up by one. So a process that leaves hands over where both stand. What lies in the
copyblock by then is the second one's too: the trusted side carries it over.
"""

import json
from collections import Counter, deque
from dataclasses import asdict, dataclass

from ...plain import restored
from .endpoint import Endpoint
from .operations import HostQueues
from .share import NicShare


@dataclass(frozen=True)
class Handover:
    """The state of an endpoint as it is handed over. Plain numbers, as JSON between the processes.

    Attributes:
        next: the slot that the NIC looks at for the next request.
        free: other slots for requests.
        used: those that the NIC has not given back, as far as is known.
        owners: of each of these, the rank that it sends to, or -1.
        freed: `Region.freed` as last read.
        place, sequence: of the next record.
    """

    next: int
    free: tuple[int, ...]
    used: tuple[int, ...]
    owners: tuple[int, ...]
    freed: int
    place: int
    sequence: int


def is_clean(share: NicShare, host_queues: HostQueues) -> bool:
    """Is nothing left on the NIC that a second process would be given? All messages have been taken
    off it. A rank that was lost may be heard of again."""
    busy = share.active or share.lost or share.broken is not None
    return not (busy or host_queues.held or host_queues.waiting)


def written(endpoint: Endpoint) -> bytes:
    """Return the state of an endpoint as JSON."""
    free, used, owners = tuple(endpoint.free), tuple(endpoint.used), tuple(endpoint.used.values())
    found = Handover(endpoint.next, free, used, owners, endpoint.freed, endpoint.place, endpoint.sequence)
    return json.dumps(asdict(found)).encode()


def take_over(endpoint: Endpoint, text: str) -> None:
    """Go on where the process before stood."""
    found = restored(Handover, json.loads(text))
    endpoint.next, endpoint.free = found.next, deque(found.free)
    endpoint.used = dict(zip(found.used, found.owners, strict=True))
    endpoint.held = dict(Counter(owner for owner in found.owners if owner >= 0))
    endpoint.freed, endpoint.place, endpoint.sequence = found.freed, found.place, found.sequence
