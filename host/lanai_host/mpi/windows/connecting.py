"""Windows whose processes reach each other's memory by their device: how they learn where it is."""

from collections.abc import Callable

import numpy as np

from ...bus.base import BusError
from ...remote import TOKEN_BYTES, Access, Exposure, Reach, Remote
from ..collectives import allgather
from ..collectives.calls import run_for
from ..collectives.parts import Part
from ..communicator import Communicator
from ..datatypes import BYTE
from ..memory import Scratch
from .by_device import ByDevice
from .memory import Memory
from .service import Service
from .target import Target

ALL = Access.READ | Access.WRITE | Access.ATOMIC
FIELD = 1 + TOKEN_BYTES  # a token behind its length
ROW = 2 * FIELD  # the token of the window's memory, that of the words of its lock; empty where there is none


def connect(
    communicator: Communicator,
    call: str,
    target: Target,
    memory: Memory,
    service: Service,
    name: str,
    remote: Remote,
    *,
    allocated: bool,
) -> ByDevice | None:
    """The way of a new window by the device. All processes of the window call it.

    None if one of them has no room for the words that the others write. `allocated`: the memory is
    the library's own.
    """
    way = ByDevice(communicator, target, service, name, remote)
    with communicator.progress.lock:
        locks = _exposed(way.words.expose)
        wanted = memory.size and locks and (allocated or remote.private)
        data = _exposed(lambda: remote.expose(memory.base, memory.size, ALL)) if wanted else None
    exposures = [exposure for exposure in (data, locks) if exposure is not None]
    rows = _exchange(communicator, call, [b"" if one is None else one.token for one in (data, locks)])
    way.connect(exposures, [], [])
    if not all(token for _, token in rows):
        way.withdraw()
        return None
    way.connect(exposures, *_reaches(communicator, remote, rows))
    return way


def _exposed(expose: Callable[[], Exposure]) -> Exposure | None:
    try:
        return expose()
    except BusError:  # no room, or memory that cannot be pinned: others reach it by messages
        return None


def _reaches(
    communicator: Communicator, remote: Remote, rows: list[tuple[bytes, bytes]]
) -> tuple[list[Reach | None], list[Reach]]:
    memory = [
        remote.reach(world, token) if token else None
        for world, (token, _) in zip(communicator.route, rows, strict=True)
    ]
    locks = [remote.reach(world, token) for world, (_, token) in zip(communicator.route, rows, strict=True)]
    return memory, locks


def _exchange(communicator: Communicator, call: str, tokens: list[bytes]) -> list[tuple[bytes, bytes]]:
    """The tokens of all processes."""
    row = Scratch(ROW)
    data = b"".join(bytes([len(token)]) + token.ljust(TOKEN_BYTES, b"\0") for token in tokens)
    row.data[:] = np.frombuffer(data, np.uint8)
    table = Scratch(ROW * communicator.size)
    run_for(communicator, call, allgather, Part(row.address, ROW, BYTE), Part(table.address, ROW, BYTE))
    fields = table.data.reshape(communicator.size, 2, FIELD)
    return [(_token(first), _token(second)) for first, second in fields]


def _token(field: "np.ndarray[tuple[int], np.dtype[np.uint8]]") -> bytes:
    return field[1 : 1 + int(field[0])].tobytes()
