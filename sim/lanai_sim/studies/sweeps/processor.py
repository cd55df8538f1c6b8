"""The NIC's processor: what a faster clock and an instruction cache would give."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import inf

from lanai_firmware.iss.cache import InstructionCache
from lanai_firmware.iss.retire import NOTHING, Retire
from lanai_firmware.iss.timing import SlotClock

from ..benches.p2p import stages, traffic
from ..benches.p2p.stages import View, Watched, watch
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line, setting

SIZES = (0, 256, 512, 1024, 2048, 4096, 8192, 16384)  # of the cache; the R4300 of the thesis has the last
QUICK = (0, 1024, 16384)
MESSAGES = (4, 4096, 65536)
LINE, WAYS = 16, 2
WINDOWS = {4: 4000, 4096: 20_000, 65536: 80_000}  # slots that a message of each size needs


def cache_points(quick: bool) -> list[Point]:
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


def measure_cache(point: Point) -> Figures:
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


def conclude_cache(rows: Sequence[Row]) -> Conclusion:
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


CACHE = Sweep("b", "cache", "An instruction cache", cache_points, measure_cache, conclude_cache)


# (a) The NIC's processor from 33 to 1056 MHz, at the same host bus, link and cable: matching on the NIC against
# matching on the host.


BASE = 33
CLOCKS = (33, 66, 133, 264, 528, 1056)
CLOCK_QUICK = (33, 133)
THESIS_FACTOR = 24  # claim s5_1.np_speed_needed
THESIS_NIC_US, TARGET_US = 51, 2  # what it starts from, and BIP's network layer


def clock_points(quick: bool) -> list[Point]:
    return grid(matching=("nic", "host"), megahertz=CLOCK_QUICK if quick else CLOCKS)


def measure_clock(point: Point) -> Figures:
    # One engine a clock, built for waveforms, serves both measurements.
    chosen = setting(host={"host_matching": point["matching"] == "host"}, megahertz=point["megahertz"])
    trip = traffic.trips(chosen, (4,), 3, trace=True)[4]
    found = {"latency_us": trip.one_way, "send_us": trip.send}
    if point["matching"] == "nic":
        cut = stages.cut(stages.watch(chosen))
        found |= {"nic_us": cut.nic_send + cut.nic_receive, "wire_us": cut.wire}
    return found


def reaches(curve: dict[float, float], target: float) -> float:
    """The clock at which a falling curve comes down to `target`, by straight lines in 1/clock;
    infinity if it does not."""
    clocks = sorted(curve)
    if curve[clocks[0]] <= target:
        return clocks[0]
    for low, high in pairwise(clocks):
        if curve[high] <= target:
            share = (curve[low] - target) / (curve[low] - curve[high])
            return 1 / (1 / low + share * (1 / high - 1 / low))
    return inf


def fixed_part(curve: dict[float, float]) -> float:
    """a of a + b / clock, through the slowest and the fastest clock: what no processor makes
    faster."""
    low, high = min(curve), max(curve)
    work = (curve[low] - curve[high]) / (1 / low - 1 / high)
    return curve[high] - work / high


class Curves:
    """The times of the sweep, by clock in MHz."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.nic = line(rows, "megahertz", "latency_us", matching="nic")
        self.host = line(rows, "megahertz", "latency_us", matching="host")
        self.inside = line(rows, "megahertz", "nic_us", matching="nic")
        self.top = max(self.nic)
        self.fixed = fixed_part(self.inside)
        self.needed = reaches(self.inside, TARGET_US) / BASE
        self.thesis_at_24 = self.fixed + (THESIS_NIC_US - self.fixed) / THESIS_FACTOR
        self.meet = reaches(self.host, self.nic[BASE])

    def gain(self, curve: dict[float, float]) -> float:
        """Return how many times as fast the fastest clock is as BASE."""
        return curve[BASE] / curve[self.top]


def conclude_clock(rows: Sequence[Row]) -> Conclusion:
    found = Curves(rows)
    plot = Plot(
        "4 bytes one way by the NIC's clock",
        "MHz",
        "us",
        {"NIC matches": found.nic, "host matches": found.host, "the NICs' part": found.inside},
        log="xy",
    )
    return Conclusion(figures_of(found), text_of(found), {"clock": plot})


def figures_of(found: Curves) -> dict[str, float]:
    figures = {f"sweep.clock.latency_us.nic.{mhz:g}": value for mhz, value in found.nic.items()}
    figures |= {f"sweep.clock.latency_us.host.{mhz:g}": value for mhz, value in found.host.items()}
    figures |= {f"sweep.clock.nic_us.{mhz:g}": value for mhz, value in found.inside.items()}
    figures |= {
        "sweep.clock.fixed_us": found.fixed,
        "sweep.clock.factor_to_2us": found.needed,
        "sweep.clock.thesis_nic_us_at_24": found.thesis_at_24,
        "sweep.clock.host_meets_nic_at_33_mhz": found.meet,
        "sweep.clock.gain_nic": found.gain(found.nic),
        "sweep.clock.gain_host": found.gain(found.host),
    }
    return {name: value for name, value in figures.items() if value < inf}


def text_of(found: Curves) -> str:
    top, needed, meet = found.top, found.needed, found.meet
    factor = f"{needed:.1f} times the clock" if needed < inf else f"more than {top / BASE:g} times the clock"
    clock = f"{meet:.0f} MHz" if meet < inf else f"no clock up to {top:g} MHz"
    return (
        f"The NICs' part of a 4-byte message is {found.inside[BASE]:.2f} us at {BASE} MHz and "
        f"{found.inside[top]:.2f} us at {top:g} MHz: {found.fixed:.2f} us of it belong to bus and link and stay. "
        f"To bring it to the {TARGET_US} us that the thesis grants BIP, this firmware needs {factor}, not "
        f"{THESIS_FACTOR}. The thesis divided all of its {THESIS_NIC_US} us by the clock; with the same fixed part "
        f"they would become {found.thesis_at_24:.1f} us at {THESIS_FACTOR} times the clock, so its factor was right "
        f"for its firmware to within that. Matching on the NIC at {BASE} MHz takes {found.nic[BASE]:.1f} us; a NIC "
        f"that leaves matching to the host comes down to that at {clock}. From {BASE} to {top:g} MHz matching on the "
        f"NIC gains {found.gain(found.nic):.1f} times, matching on the host {found.gain(found.host):.1f} times."
    )


CLOCK = Sweep("a", "clock", "A faster processor on the NIC", clock_points, measure_clock, conclude_clock)
