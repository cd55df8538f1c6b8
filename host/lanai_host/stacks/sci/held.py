"""Memory of the library's own, as a body."""

from ... import process_memory
from ...body import Run


class Held(Run):
    """Bytes of the library's own. They live as long as the body."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = data
        super().__init__(process_memory.address_of(data), len(data))
