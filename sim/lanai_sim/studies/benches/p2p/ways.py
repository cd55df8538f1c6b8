"""Programmed I/O against DMA (NP-B7): latency and host overhead of both ways into the NIC, and
where one begins to win.

By PIO all bodies are written by the host's processor, by DMA all are pinned and fetched. Pinning is
done for each message, as in the thesis (NP-49), or pages stay pinned. mpi-np does not receive
by PIO: its price here is that of reading the body from the NIC.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from lanai_firmware.programs.mpi_np.layout import PACKET_BODY

from .pair import Setting, Side, play
from .traffic import receive_overheads, trips

PIO, DMA, KEPT = "pio", "dma", "dma_kept"
LINE_SIZES = tuple(range(4, 260, 4))  # fine enough to see the cache lines (NP-59)
LINE_REPETITIONS = 9  # against the NIC's clock, which blurs small differences


def setting_for(way: str, setting: Setting) -> Setting:
    """The setting in which all bodies up to a packet's size go one way."""
    longest = int(PACKET_BODY)
    if way == PIO:
        return setting.but(host=setting.host.but(pio_threshold=longest), mcp=setting.mcp.but(inline_bytes=longest))
    host = setting.host.but(pio_threshold=0)
    return setting.but(host=host.but(pinned_cache_pages=0) if way == DMA else host)


@dataclass(frozen=True)
class Ways:
    """Times in microseconds, by way and then by size."""

    latency: dict[str, dict[int, float]]
    send: dict[str, dict[int, float]]
    receive: dict[str, dict[int, float]]
    lines: dict[int, float]  # send overhead by PIO of sizes close together


def measure(setting: Setting, sizes: Sequence[int], repetitions: int) -> Ways:
    latency, send, receive = {}, {}, {}
    for way in (PIO, DMA, KEPT):
        chosen = setting_for(way, setting)
        found = trips(chosen, sizes, repetitions)
        latency[way] = {size: trip.one_way for size, trip in found.items()}
        send[way] = {size: trip.send for size, trip in found.items()}
        if way != PIO:
            receive[way] = receive_overheads(chosen, sizes)
    receive[PIO] = reading(setting, sizes)
    lines = {size: trip.send for size, trip in trips(setting_for(PIO, setting), LINE_SIZES, LINE_REPETITIONS).items()}
    return Ways(latency, send, receive, lines)


def reading(setting: Setting, sizes: Sequence[int]) -> dict[int, float]:
    """Measure the time in which the host reads so many bytes from the NIC word by word, with the call
    around that."""

    def program(side: Side) -> dict[int, float]:
        found = {}
        for size in sizes if not side.rank else ():
            begin = side.now
            side.bus.read_block(side.attachment.region, size)
            found[size] = (side.now - begin + 2 * setting.host.call) / 1e6
        return found

    result: dict[int, float] = play(setting, program)[0]
    return result


def crossover(one: dict[int, float], other: dict[int, float]) -> float:
    """The size from which `other` is the cheaper way, between sizes by straight lines; infinity if
    it never is."""
    sizes = sorted(one)
    for low, high in pairwise(sizes):
        before, after = other[low] - one[low], other[high] - one[high]
        if before > 0 >= after:
            return low + (high - low) * before / (before - after)
    return 0.0 if other[sizes[0]] <= one[sizes[0]] else inf


def tooth(lines: dict[int, float], periods: Sequence[int] = (8, 16, 32, 64)) -> int:
    """The period of the saw-tooth in a curve: where the steepest word of each period stands out as
    much as with any longer one."""
    rises = {high: lines[high] - lines[low] for low, high in pairwise(sorted(lines))}

    def stands_out(period: int) -> float:
        phases = [[rise for size, rise in rises.items() if size % period == phase] for phase in range(0, period, 4)]
        means = [sum(phase) / len(phase) for phase in phases]
        return max(means) - sum(means) / len(means)

    scores = {period: stands_out(period) for period in periods}
    return min(period for period, score in scores.items() if score >= 0.75 * max(scores.values()))


def figures(ways: Ways) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind, table in (("latency", ways.latency), ("send_overhead", ways.send), ("receive_overhead", ways.receive)):
        for way, by_size in table.items():
            found |= {f"p2p.{way}_{kind}_us.{size}": value for size, value in by_size.items()}
    for kind, table in (("latency", ways.latency), ("send_overhead", ways.send)):
        for way in (DMA, KEPT):
            found[f"p2p.crossover_bytes.{kind}.{way}"] = crossover(table[PIO], table[way])
    found["p2p.crossover_bytes.receive_overhead.dma"] = crossover(ways.receive[PIO], ways.receive[DMA])
    found |= {f"p2p.pio_line_us.{size}": value for size, value in ways.lines.items()}
    found = {name: value for name, value in found.items() if value < inf}  # where one way never wins there is no figure
    return found | {"p2p.pio_period_bytes": tooth(ways.lines)}
