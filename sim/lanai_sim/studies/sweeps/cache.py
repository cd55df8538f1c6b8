"""(b) What an instruction cache would give: the firmware's real instruction stream, replayed with
the golden model's cache and timing.

The stream is what both NICs' processors retired while one message crossed, taken from waveforms,
burst by burst: from waking up to waiting again. A hit fetches without the LBUS; a miss takes a slot
a word of its line. DMA takes the slots that it took in the run: a faster processor would move them
a little, which the replay does not know.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from lanai_firmware.iss.cache import InstructionCache
from lanai_firmware.iss.retire import NOTHING, Retire
from lanai_firmware.iss.timing import SlotClock

from ..benches.p2p.stages import View, Watched, watch
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line, setting

SIZES = (0, 256, 512, 1024, 2048, 4096, 8192, 16384)  # of the cache; the R4300 of the thesis has the last
QUICK = (0, 1024, 16384)
MESSAGES = (4, 4096, 65536)
LINE, WAYS = 16, 2
WINDOWS = {4: 4000, 4096: 20_000, 65536: 80_000}  # slots that a message of each size needs


def points(quick: bool) -> list[Point]:
    return grid(message=MESSAGES[:2] if quick else MESSAGES, cache=QUICK if quick else SIZES)


class CachedClock(SlotClock):
    """A `SlotClock` whose fetches go through a cache."""

    def __init__(self, cache: InstructionCache | None, taken: Sequence[int]) -> None:
        super().__init__(taken)
        self.cache = cache
        self.pc = 0

    def _fetch(self) -> int:
        if self.cache is None:
            return super()._fetch()
        if self.cache.fetch(self.pc):
            return self._earliest
        slot = super()._fetch()
        for _ in range(self.cache.line // 4 - 1):
            slot = self._free(slot + 1)
        return slot

    def retire(self, record: Retire) -> int:
        self.pc = record.pc
        if self.cache is not None and record.store:
            self.cache.drop(record.address)
        return super().retire(record)


@dataclass(frozen=True)
class Burst:
    """Instructions from waking up to waiting again, how many slots that took, and which slots DMA
    and PIO had meanwhile."""

    records: tuple[Retire, ...]
    slots: int
    taken: tuple[int, ...]


def bursts(nic: View) -> Iterator[Burst]:
    """Return the bursts of one processor in the window, whole ones only."""
    valid = nic["valid"] != 0
    others = (nic["hdma"] | nic["pio"] | nic["recv"] | nic["send"]) != 0
    waiting = nic["waiting"] != 0
    edges = [0, *(i for i in range(1, len(waiting)) if waiting[i] != waiting[i - 1]), len(waiting)]
    for begin, end in pairwise(edges):
        if waiting[begin] or begin == 0 or end == len(waiting):
            continue
        records = tuple(_record(nic, i) for i in range(begin, end) if valid[i])
        if records:
            after = (*(int(busy) for busy in others[begin : end + 64]), 0, 0)
            yield Burst(records, end - begin, after)


def _record(nic: View, i: int) -> Retire:
    address = int(nic["address"][i]) if nic["access"][i] else NOTHING
    return Retire(int(nic["pc"][i]), 0, NOTHING, 0, NOTHING, 0, address, 4, bool(nic["store"][i]), 0)


def replay(found: Sequence[Burst], cache: InstructionCache | None) -> int:
    """Slots that the bursts take. The cache stays warm between them."""
    slots = 0
    for burst in found:
        clock = CachedClock(cache, burst.taken)
        for record in burst.records:
            slot = clock.retire(record)
        slots += slot
    return slots


@cache
def streams(size: int) -> tuple[list[list[Burst]], float]:
    """Both processors' bursts for a message of `size` bytes, and a slot's microseconds."""
    seen: Watched = watch(setting(), size, WINDOWS[size])
    return [list(bursts(view)) for view in seen.views], seen.slot_us


def measure(point: Point) -> Figures:
    sides, slot_us = streams(point["message"])
    slots, plain, misses, fetches = 0, 0, 0, 0
    for found in sides:
        model = InstructionCache(point["cache"], LINE, WAYS) if point["cache"] else None
        if model is not None:
            replay(found, model)  # the message before has warmed it
            model.hits = model.misses = 0
        slots += replay(found, model)
        plain += replay(found, None)
        misses += model.misses if model else 0
        fetches += sum(len(burst.records) for burst in found)
    real = sum(burst.slots for found in sides for burst in found)
    return {
        "busy_us": slots * slot_us,
        "busy_plain_us": plain * slot_us,
        "busy_gateware_us": real * slot_us,
        "miss_percent": 100 * misses / fetches if point["cache"] else 100.0,
        "saved_percent": 100 * (1 - slots / plain),
        "instructions": fetches,
    }


def conclude(rows: Sequence[Row]) -> Conclusion:
    messages = sorted({int(row.point["message"]) for row in rows})
    saved = {message: line(rows, "cache", "saved_percent", message=message) for message in messages}
    misses = {message: line(rows, "cache", "miss_percent", message=message) for message in messages}
    figures = {
        f"sweep.cache.saved_percent.{message}.{size:.0f}": value
        for message in messages
        for size, value in saved[message].items()
    }
    figures |= {
        f"sweep.cache.miss_percent.{message}.{size:.0f}": value
        for message in messages
        for size, value in misses[message].items()
    }
    model = [row for row in rows if row.point["cache"] == 0]
    error = (
        max(abs(row.figures["busy_plain_us"] / row.figures["busy_gateware_us"] - 1) for row in model) if model else 0.0
    )
    figures["sweep.cache.model_error_percent"] = 100 * error
    small, large, top = messages[0], messages[-1], max(saved[messages[0]])
    text = (
        f"A cache of {top:,.0f} bytes as the thesis's R4300 has saves the processors {saved[small][top]:.1f} % "
        "of their busy time "
        f"for a message of {small} "
        f"bytes and {saved[large][top]:.1f} % for {large} bytes, where DMA competes for the LBUS. Without "
        "contention a fetch costs this "
        "processor no time, as every instruction has its own slot to be fetched in: a cache alone gives "
        "little, and a faster clock for the "
        f"core is what it would make room for. The replay without a cache is within {100 * error:.1f} % of the "
        "gateware's busy time."
    )
    plot = Plot(
        "Busy time saved by an instruction cache",
        "bytes of cache",
        "%",
        {f"{message} bytes": curve for message, curve in saved.items()},
    )
    missing = Plot(
        "Instruction fetches that miss",
        "bytes of cache",
        "%",
        {f"{message} bytes": {size: v for size, v in curve.items() if size} for message, curve in misses.items()},
        log="x",
    )
    return Conclusion(figures, text, {"cache": plot, "cache-misses": missing})


SWEEP = Sweep("b", "cache", "An instruction cache", points, measure, conclude)
