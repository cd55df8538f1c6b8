"""The processor: what contention for the LBUS costs it (NP-55..58), how good compiled code is, how
fast it is simulated."""

import argparse
import time
from collections.abc import Sequence
from contextlib import suppress

from lanai_firmware.iss import Memory, Processor
from lanai_firmware.iss.retire import Tracer
from lanai_firmware.iss.timing import SlotClock, Starved
from lanai_hdl.isa import NOP, AluOp, encode
from lanai_hdl.isa.formats import BR, RI, RM, SLI

from ...corebench.bench import CoreBench
from ...corebench.lockstep import LAYOUT
from ...corebench.search import search_figures

NAME = "core"
HELP = "processor: LBUS contention, list search, simulation speed"

SIZE = LAYOUT.size  # bytes of SRAM: the model that the proofs of the core use
FREE, EVEN, ODD, BOTH = (0, 0), (1, 0), (0, 1), (1, 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cycles", type=int, default=1_000_000, help="processor cycles to time (default: %(default)s)")


def half_memory_loop() -> bytes:
    """16 instructions, 8 of which access memory: loads and stores in turn."""
    body = [encode(SLI, rd=20, imm=0x2000)]
    for index in range(7):
        body.append(encode(RM, store=index & 1, rd=21, rs1=20, pre=1, imm=4 * index))
        body.append(encode(RI, op=AluOp.ADD, rd=22, rs1=22, imm=index))
    # The last access stands in the branch's slot.
    body += [encode(BR, target=4), encode(RM, rd=23, rs1=20, pre=1, imm=64)]
    return b"".join(word.to_bytes(4, "big") for word in body)


def cycles_per_pass(bench: CoreBench, image: bytes, taken: tuple[int, int], passes: int = 50) -> float:
    """Steady processor cycles of one pass through the loop that starts at address 4."""
    bench.load(image + NOP.to_bytes(4, "big"))
    bench.reset(taken)
    heads = [int(row["slot"]) for row in bench.run(200 * passes) if row["pc"] == 4]
    first, last = heads[10], heads[10 + passes]
    return (last - first) / 2 / passes


def retired(bench: CoreBench, image: bytes, taken: tuple[int, int], slots: int) -> int:
    """Instructions that retire in so many slots."""
    bench.load(image)
    bench.reset(taken)
    return len(bench.run(slots))


def speed(bench: CoreBench, image: bytes, cycles: int) -> float:
    """Simulated processor cycles a second of CPU time, so that other load does not affect it."""
    bench.load(image)
    bench.reset()
    started, left = time.process_time(), 2 * cycles
    while left > 0:
        before = bench.slot
        bench.run(left)
        left -= bench.slot - before
    return cycles / (time.process_time() - started)


def model_speed(image: bytes, instructions: int = 200_000) -> float:
    """Instructions of the golden model a second of CPU time."""
    processor = Processor(Memory(SIZE))
    processor.write(0, image)
    started = time.process_time()
    processor.run(instructions)
    return instructions / (time.process_time() - started)


def run(args: argparse.Namespace) -> dict[str, float]:
    image = half_memory_loop()
    bench = CoreBench(SIZE)
    free = cycles_per_pass(bench, image, FREE)
    even, odd = (cycles_per_pass(bench, image, edge) for edge in (EVEN, ODD))
    return {
        "core.cycles_per_instruction.free": free / 16,
        "core.slowdown.one_edge_taken": max(even, odd) / free,
        "core.slowdown.even_edge_taken": even / free,
        "core.slowdown.odd_edge_taken": odd / free,
        "core.progress.both_edges_taken": retired(bench, image, BOTH, 10_000),
        "core.cycles_per_second": speed(bench, image, args.cycles),
        "core.model.instructions_per_second": model_speed(image),
        **search_figures(),
    }


# The slowdown of the NIC's processor while DMA engines take LBUS slots (NP-B6), by the share of the slots taken.


EIGHTHS = 8
SLOTS = 6000
LOOP = 4  # where `half_memory_loop` begins again


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
    eighths of their slots taken): of the golden model, to which the lockstep proof holds the core slot by slot."""
    image = half_memory_loop() + NOP.to_bytes(4, "big")
    free = rate(heads_of_model(image, (0, 0)))
    return {
        (edges, eighths): rate(heads_of_model(image, pattern(eighths, edges == "two"))) / free
        for edges in ("one", "two")
        for eighths in range(EIGHTHS + 1)
    }


def heads_of_model(image: bytes, taken: tuple[int, ...]) -> list[int]:
    """Return the slots before SLOTS in which the golden model retires the first instruction of the loop."""
    processor = Processor(Memory(SIZE))
    processor.write(0, image)
    tracer, clock = Tracer(processor), SlotClock(taken)
    found: list[int] = []
    with suppress(Starved):
        while (record := tracer.step()) is not None and (slot := clock.retire(record)) < SLOTS:
            if record.pc == LOOP:
                found.append(slot)
    return found


def heads_of_core(bench: CoreBench, image: bytes, taken: tuple[int, ...]) -> list[int]:
    """Return the same of the core."""
    bench.load(image)
    bench.reset(taken)
    return [int(row["slot"]) for row in bench.run(SLOTS) if row["pc"] == LOOP]


def rate(heads: Sequence[int]) -> float:
    """Instructions a slot, once the loop runs steadily; 0 if it does not run."""
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
