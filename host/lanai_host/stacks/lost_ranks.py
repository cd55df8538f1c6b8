"""The reasons why ranks are lost, and the errors of a probe where no message can come any more."""

from collections.abc import Mapping
from typing import NoReturn

from ..errors import DeviceEnded, DeviceLost, PeerLost
from ..operation import ANY_SOURCE, DeviceError, ErrorKind

RAISED = {ErrorKind.PEER_FAILED: PeerLost, ErrorKind.RANK_LOST: DeviceEnded}


def reasons(lost: Mapping[int, str]) -> dict[int, str]:
    """Return why each rank can be reached no more. `lost`: by rank, the first that was lost first.

    Ranks that are lost later may have given up because of the first. So their reasons name that too.
    """
    if not lost:
        return {}
    first, why = next(iter(lost.items()))
    return {
        rank: text if rank == first else f"{text}, after rank {first} was lost: {why}" for rank, text in lost.items()
    }


def check_probe(source: int, lost: Mapping[int, str], told: set[int]) -> None:
    """Refuse a probe that has found nothing. Raises PeerLost if `source` is in `lost`, which says why.

    Probes for ANY_SOURCE are told of each loss once, because the other ranks may still send. `told`:
    the ranks of which they have been.
    """
    if source in lost:
        raise PeerLost(lost[source])
    if source == ANY_SOURCE and (untold := lost.keys() - told):
        rank = min(untold)
        told.add(rank)
        raise PeerLost(lost[rank])


def fail_probe(failure: DeviceError) -> NoReturn:
    """The whole device has failed. Raises DeviceLost, or PeerLost or DeviceEnded if that was because of a peer."""
    raise RAISED.get(failure.kind, DeviceLost)(failure.text)
