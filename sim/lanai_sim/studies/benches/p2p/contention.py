"""The slowdown of the NIC's processor while DMA engines take LBUS slots (NP-B6), by the share of
the slots taken."""

from lanai_hdl.isa import NOP

from ....corebench.lockstep import CoreBench
from ..core import SIZE, half_memory_loop

EIGHTHS = 8
SLOTS = 6000


def pattern(eighths: int, both: bool) -> tuple[int, ...]:
    """Slots taken: so many of eight on the rising edge, spread evenly, and as many on the falling
    edge if `both`."""
    taken: list[int] = []
    for turn in range(EIGHTHS):
        busy = int((turn + 1) * eighths // EIGHTHS > turn * eighths // EIGHTHS)
        taken += [busy, busy if both else 0]
    return tuple(taken)


def speeds() -> dict[tuple[str, int], float]:
    """The processor's speed, 1 with no DMA, on code of which half accesses memory, by (edges,
    eighths of their slots taken)."""
    image = half_memory_loop()
    with CoreBench(SIZE) as bench:
        free = rate(bench, image, (0, 0))
        return {
            (edges, eighths): rate(bench, image, pattern(eighths, edges == "two")) / free
            for edges in ("one", "two")
            for eighths in range(EIGHTHS + 1)
        }


def rate(bench: CoreBench, image: bytes, taken: tuple[int, ...]) -> float:
    """Instructions a slot, once the loop runs steadily; 0 if it does not run."""
    bench.load(image + NOP.to_bytes(4, "big"))
    bench.reset(taken)
    heads = [int(row["slot"]) for row in bench.run(SLOTS) if row["pc"] == 4]
    if len(heads) < 2:
        return 0.0
    middle = len(heads) // 2  # an even number of passes: a pattern of 16 slots comes out even
    return 16 * (len(heads) - 1 - middle) / (heads[-1] - heads[middle])


def figures(found: dict[tuple[str, int], float]) -> dict[str, float]:
    figures = {
        f"p2p.np_speed.{edges}_edge{'s' * (edges == 'two')}.{100 * eighths / EIGHTHS:g}": speed
        for (edges, eighths), speed in found.items()
    }
    return figures | {
        "p2p.np_slowdown.one_dma": 1 / found["one", EIGHTHS],
        "p2p.np_speed.two_dma": found["two", EIGHTHS],
    }
