"""One access to remote memory."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Status
from lanai_hdl.remote.tables import APERTURE_PAGES, EXPOSURES, PROCESS_BYTES, aperture_at, command_at

from ..bus.base import PAGE_SIZE

REASONS = {
    Status.EXPOSURE: "nothing is exposed there (any more)",
    Status.KEY: "the key of the token is wrong",
    Status.RIGHT: "the exposure does not allow it",
    Status.RANGE: "it leaves the exposed range",
    Status.PAGE: "a page is outside the bus window of the process that exposed it",
    Status.BUS: "a host refused the access to its memory",
    Status.ALIGNMENT: "an atomic needs an address that is a multiple of its size",
    Status.LOST: "the peer's NIC does not answer, or one that hangs is in the way",
    Status.FULL: "the FIFO has no room, or refuses records until a retry",
    Status.BEFORE: "an access before it was refused",
    Status.INVALID: "the adapter does not know such a command or such a peer",
}


class RemoteError(Exception):
    """An access failed. What was to be written may have been written in part."""

    def __init__(self, what: str, status: Status) -> None:
        self.status = status
        super().__init__(f"{what}: {REASONS[status]}")


class RemoteOperation:
    """Under way until `RemoteMemory.wait` or `settle` has seen its end.

    Attributes:
        what: the access in words, for errors.
        status: None while it is under way.
        value: of an atomic that has ended: what the word was before.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.status: Status | None = None
        self.value = 0

    @property
    def done(self) -> bool:
        return self.status is not None

    def check(self) -> None:
        """Raise RemoteError if it has failed."""
        if self.status not in (None, Status.OK):
            raise RemoteError(self.what, self.status)


# The token with which a process accesses another's memory (MB-01).

_FORM = struct.Struct(">BBHIQ")


@dataclass(frozen=True)
class Token:
    """Names exposed memory. It goes to other processes by message, as `pack` and `unpack` have it.

    Attributes:
        node: the NIC.
        exposure: its number at that NIC.
        key: what must be shown.
        first: offset of the first byte in the exposure's pages.
        size: bytes.
    """

    node: int
    exposure: int
    key: int
    first: int
    size: int

    SIZE = _FORM.size

    def pack(self) -> bytes:
        return _FORM.pack(self.node, self.exposure, self.key, self.first, self.size)

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        if len(data) != cls.SIZE:
            raise ValueError(f"a token has {cls.SIZE} bytes, not {len(data)}")
        return cls(*_FORM.unpack(data))


# The facts of the adapters that a rank's process needs: its own, and where the other ranks are.


class Place(NamedTuple):
    """The place of a rank: its NIC, the process's number there, and the key of its first exposure."""

    node: int
    process: int
    key: int


@dataclass(frozen=True)
class Attachment:
    """Attributes:
    places: of all ranks.
    adapter: parameters of this rank's adapter.
    options: of the messaging system.
    """

    rank: int
    places: tuple[Place, ...]
    adapter: Remote
    options: Mapping[str, Any]

    @property
    def place(self) -> Place:
        return self.places[self.rank]

    @property
    def reach(self) -> Sequence[range]:
        """The process's page of the adapter's window, and its part of the aperture."""
        first, mapped = command_at(self.place.process, 0), aperture_at(self.place.process, 0)
        pages = APERTURE_PAGES * PAGE_SIZE if self.adapter.streams else 0
        return [range(at, at + size) for at, size in ((first, PROCESS_BYTES), (mapped, pages)) if size]

    @property
    def doorbell_bits(self) -> int:
        return 0

    def request_in(self, offset: int, data: bytes) -> None:
        """Writes to the adapter are commands, and no requests of messages."""

    def token(self, rank: int, size: int) -> Token:
        """Names a rank's first exposure, which begins at a page and has `size` bytes."""
        place = self.places[rank]
        return Token(place.node, place.process * EXPOSURES, place.key, 0, size)
