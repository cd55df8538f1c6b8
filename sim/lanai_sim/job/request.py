"""A rank's request as it came."""


class Request:
    """One frame from a rank. `elapsed` is host work in picoseconds since the frame before."""

    __slots__ = ("elapsed", "op", "payload")

    def __init__(self, op: int, elapsed: int, payload: bytes) -> None:
        self.op, self.elapsed, self.payload = op, elapsed, payload

    def each(self) -> "list[Request]":
        """Return the requests that came, a frame each."""
        return [self]
