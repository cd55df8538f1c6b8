"""A model of an instruction cache, which counts what one would save, beside the golden model, for sweeps. It changes no
result.

The NIC has no cache by default: each instruction costs one LBUS slot to fetch. A hit costs none; a
miss fills its line, a slot a word.
"""

from dataclasses import dataclass, field

from lanai_hdl.errors import UserError

from .processor import Processor, Stop
from .retire import Tracer


def _power_of_two(name: str, value: int, least: int) -> None:
    if value < least or value & (value - 1):
        raise UserError(f"cache {name} of {value} bytes: it must be a power of two, at least {least}")


@dataclass
class InstructionCache:
    """`size` bytes in lines of `line` bytes, `ways` of them in a set, the least recently used one
    goes.

    Stores by the processor drop the line they hit; DMA does not (firmware is not loaded while it
    runs).
    """

    size: int
    line: int = 16
    ways: int = 1
    hits: int = 0
    misses: int = 0
    _sets: list[list[int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _power_of_two("line", self.line, 4)
        _power_of_two("size", self.size, self.line)
        if self.ways < 1 or self.size % (self.line * self.ways):
            raise UserError(
                f"cache of {self.size} bytes does not divide into {self.ways} ways of {self.line}-byte lines"
            )
        self._sets = [[] for _ in range(self.size // self.line // self.ways)]

    def fetch(self, pc: int) -> bool:
        """An instruction is fetched; True if it hits."""
        number = pc // self.line
        lines = self._sets[number % len(self._sets)]
        hit = number in lines
        if hit:
            lines.remove(number)
            self.hits += 1
        else:
            del lines[: max(0, len(lines) - self.ways + 1)]
            self.misses += 1
        lines.append(number)
        return hit

    def drop(self, address: int) -> None:
        """A store hits `address`."""
        number = address // self.line
        lines = self._sets[number % len(self._sets)]
        if number in lines:
            lines.remove(number)

    @property
    def slots_used(self) -> int:
        """LBUS slots spent to fill lines."""
        return self.misses * (self.line // 4)

    @property
    def slots_saved(self) -> int:
        """Fetch slots that the run without a cache would have spent beyond that; negative if the
        cache did harm."""
        return self.hits + self.misses - self.slots_used


def run_cached(processor: Processor, cache: InstructionCache, limit: int) -> Stop:
    """`processor.run(limit)`, fetching through the cache."""
    tracer = Tracer(processor)
    for _ in range(limit):
        record = tracer.step()
        if record is None:
            return tracer.stop
        cache.fetch(record.pc)
        if record.store:
            cache.drop(record.address)
        if tracer.stop is Stop.WAIT:
            return Stop.WAIT
    return Stop.LIMIT
