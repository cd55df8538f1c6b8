"""Latency, bandwidth and host overhead by size, timed as the thesis does (NP-B1, NP-B2, NP-B3,
NP-B4).

One way is half of a round trip less what the far end computes, with fresh data each time; the median
counts. The far end's receive waits for the message. That of the answer is posted before the clock is read, or,
with `Setting.send_first`, after the send, as in the thesis. Writing the fresh data costs no simulated time, so
there is nothing to take off the round trip.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from statistics import median

from lanai_firmware.programs.mpi_np.layout import PACKET_BODY
from lanai_host.errors import UserError
from lanai_host.operation import Operation

from .pair import PAGE, Buffer, Setting, Side, play

HEAP_HEADER = 16  # bytes of a page that malloc keeps for itself before a large block


@dataclass(frozen=True)
class Trip:
    """The times of one size, in microseconds."""

    one_way: float
    send: float  # the host's part of a send: from the call until it is the program's turn again

    def rate(self, size: int) -> float:
        """One-way bandwidth, MB/s (NP-B2)."""
        return size / self.one_way


def unaligned(size: int) -> int:
    """Return where in its page a buffer begins that crosses into the next one: where malloc puts a large
    one, else so that half is in each."""
    return HEAP_HEADER if size >= PAGE else PAGE - size // 2


def ping(side: Side, size: int, repetitions: int, offset: int = 0) -> Trip:
    """The side that begins; the other must `pong`."""
    out, back = Buffer(size, offset), Buffer(size, offset)
    ways, sends = [], []
    for number in range(repetitions + 1):
        out.fill(number)
        answer = None if side.stage.setting.send_first else side.receive(back)
        side.pause(number)
        begin = side.now
        sent = side.send(out)
        placed = side.now
        if answer is None:
            side.complete(sent)
            side.complete(side.receive(back))
        else:
            side.finish(answer)
        end = side.now
        side.finish(sent)
        _check(back, number + 1, size)
        if number:  # the first one pins
            ways.append((end - begin) / 2e6)
            sends.append((placed - begin) / 1e6)
    return Trip(median(ways), median(sends))


def pong(side: Side, size: int, repetitions: int, offset: int = 0) -> None:
    out, back = Buffer(size, offset), Buffer(size, offset)
    for number in range(repetitions + 1):
        question = side.receive(back)
        out.fill(number + 1)
        side.finish(question)
        side.finish(side.send(out))


def trips(
    setting: Setting, sizes: Sequence[int], repetitions: int, trace: bool = False, crossing: bool = False
) -> dict[int, Trip]:
    """Round trips of each size, between buffers that begin with a page, or with `crossing` where
    `unaligned` says.

    `trace` runs the engine that is built for waveforms: the same times, one build less beside
    `stages`.
    """

    def program(side: Side) -> dict[int, Trip]:
        found = {}
        for size in sizes:
            offset = unaligned(size) if crossing else 0
            if side.rank:
                pong(side, size, repetitions, offset)
            else:
                found[size] = ping(side, size, repetitions, offset)
        return found

    result: dict[int, Trip] = play(setting, program, trace=trace)[0]
    return result


def receive_overheads(setting: Setting, sizes: Sequence[int]) -> dict[int, float]:
    """The host's part of a receive that is posted early and waited for late, by size:
    microseconds."""

    def program(side: Side) -> dict[int, float]:
        found = {}
        for size in sizes:
            buffer = Buffer(size)
            for _ in range(2):  # the first one pins
                side.meet()
                early = side.now
                operation = side.receive(buffer) if side.rank else side.send(buffer)
                posted = side.now
                side.meet()
                there = side.now
                side.finish(operation)
                found[size] = (posted - early + side.now - there) / 1e6
        return found

    result: dict[int, float] = play(setting, program)[1]
    return result


def lost(setting: Setting, size: int) -> dict[str, float]:
    """Time that a message takes from a program that computes for longer than the message is under way: the calls
    that begin and end it, and what is left of it then. By side, in microseconds."""

    def run(side: Side) -> float:
        buffer, spent = Buffer(size), 0
        for _ in range(2):  # the first one pins, if pages stay pinned
            side.meet()
            work = 2_000_000_000
            began = side.now
            operation = side.receive(buffer) if side.rank else side.send(buffer)
            side.compute(work)
            side.finish(operation)
            spent = side.now - began - work
        return spent / 1e6

    sender, receiver = play(setting, run)
    return {"lost_us.send": sender, "lost_us.receive": receiver}


def stream(side: Side, size: int, count: int) -> float:
    """MB/s of `count` messages at once, from the first send to the last receive; rank 0 sends. Only
    rank 1's answer counts."""
    buffers = [Buffer(size) for _ in range(count)]
    for number in range(2):  # the first round pins
        side.meet()
        operations: list[Operation] = []
        if not side.rank:
            side.stage.notes["began"] = side.now
        for buffer in buffers:
            if not side.rank:
                buffer.fill(number)
            operations.append(side.receive(buffer) if side.rank else side.send(buffer))
        for operation in operations:
            side.finish(operation)
    if side.rank:
        _check(buffers[-1], 1, size)
    began: int = side.stage.notes["began"]
    return size * count / ((side.now - began) / 1e6)


def streams(setting: Setting, sizes: Sequence[int]) -> dict[int, float]:
    """Bandwidth of messages sent without waiting for one another, by size."""

    def program(side: Side) -> dict[int, float]:
        return {size: stream(side, size, max(3, min(8, 2 * 1048576 // size))) for size in sizes}

    result: dict[int, float] = play(setting, program)[1]
    return result


def _check(buffer: Buffer, seed: int, size: int) -> None:
    if not buffer.holds(seed):
        raise UserError(f"bench p2p: message {seed} of {size} bytes came damaged; this is a bug")


# Programmed I/O against DMA (NP-B7): latency and host overhead of both ways into the NIC, and where one begins to
# win.


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
