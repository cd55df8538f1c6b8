"""A rank's request as it came."""

from lanai_host.simulator.protocol import HEADER


class Request:
    """One frame from a rank. `elapsed` is host work in picoseconds since the frame before."""

    __slots__ = ("elapsed", "op", "payload")

    def __init__(self, op: int, elapsed: int, payload: bytes) -> None:
        self.op, self.elapsed, self.payload = op, elapsed, payload

    def each(self) -> "list[Request]":
        """Return the requests that came, a frame each."""
        return [self]


def frames_of(data: bytes) -> list[Request]:
    """Return the requests of whole frames."""
    found, at = [], 0
    while at < len(data):
        size, op, _, elapsed = HEADER.unpack_from(data, at)
        at += HEADER.size + size
        found.append(Request(op, elapsed, data[at - size : at]))
    return found
