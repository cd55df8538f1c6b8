"""The processor's cache, as far as it hides what peers have put (T3-17).

The cache of the Alpha 21064 holds 8 KB in lines of 32 bytes, each at one place. Stores go through
it. A put from elsewhere writes memory; whether it invalidates the line here is what the modes differ in.
"""

SIZE = 8192
LINE = 32


class Cache:
    """A cache that no put invalidates. Lines stay until another takes their place, or until they are invalidated."""

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        self._lines: dict[int, tuple[int, bytearray]] = {}  # by place: address of the line, its bytes

    def read(self, offset: int, size: int) -> bytes:
        """Bytes as the processor sees them. Lines that are not there are fetched."""
        found = bytearray()
        for line, begin, end in _parts(offset, size):
            found += self._fetch(line)[begin:end]
        return bytes(found)

    def write(self, offset: int, data: bytes) -> None:
        """A store: to memory, and to the lines that are there."""
        self._memory[offset : offset + len(data)] = data
        done = 0
        for line, begin, end in _parts(offset, len(data)):
            address, held = self._lines.get(_place(line), (-1, bytearray()))
            if address == line:
                held[begin:end] = data[done : done + end - begin]
            done += end - begin

    def invalidate(self, offset: int, size: int) -> int:
        """The next read fetches these bytes. How many lines that concerns."""
        lines = [line for line, _, _ in _parts(offset, size)]
        for line in lines:
            if self._lines.get(_place(line), (-1,))[0] == line:
                del self._lines[_place(line)]
        return len(lines)

    def _fetch(self, line: int) -> bytearray:
        address, held = self._lines.get(_place(line), (-1, bytearray()))
        if address != line:
            held = bytearray(self._memory[line : line + LINE])
            self._lines[_place(line)] = line, held
        return held


def _place(line: int) -> int:
    return line % SIZE // LINE


def _parts(offset: int, size: int) -> list[tuple[int, int, int]]:
    """The lines that a range touches: address of the line, first and last byte in it."""
    lines = range(offset - offset % LINE, offset + size, LINE)
    return [(line, max(offset - line, 0), min(offset + size - line, LINE)) for line in lines]
