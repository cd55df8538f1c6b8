"""The proof of the core: random programs on the golden model and on the gateware's model, compared
instruction by instruction.

Compared are, for each retired instruction, its address, its word, what it wrote to registers and
memory, and the slot in which it retired; then the trap that ends the program, the whole SRAM and
the on-chip registers. Meanwhile other requesters take slots at random, and the core is made to wait
at random.
"""

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lanai_firmware.disasm import disassemble
from lanai_firmware.fuzz import Layout, Program, generate
from lanai_firmware.iss import Memory, PlainRegisters, Processor
from lanai_firmware.iss.retire import Retire, Tracer
from lanai_firmware.iss.timing import SlotClock
from lanai_hdl import machine

from .bench import FIELDS, CoreBench, Trapped

# On-chip words that programs may use. Stores to WAIT stall in the golden model; on the bench they
# would be plain.
SCRATCH = tuple(machine.offset(f"SCRATCH{i}") for i in range(8))
LAYOUT = Layout(registers=SCRATCH, passes=10)
PATTERN = 4096  # slots


class Divergence(Exception):
    """Model and gateware differ. The text says where, and how to see it again."""


@dataclass(frozen=True)
class Proved:
    """The length of one program, in instructions and in slots."""

    instructions: int
    slots: int


def waits_of(seed: int) -> bytes:
    """In which slots the core must wait while the program of this seed runs: mostly in none."""
    rng = random.Random(f"waits of {seed}")
    share = rng.choice((0, 0, 0, 0.1, 0.7))
    return bytes(rng.random() < share for _ in range(PATTERN - 1))  # not in step with the other pattern


def pattern_of(seed: int) -> bytes:
    """Return the slots that others take while the program of this seed runs: nothing, one edge wholly, or
    shares of each edge."""
    rng = random.Random(f"slots of {seed}")
    shares = rng.choice(((0, 0), (1, 0), (0, 1), *((rng.random() * 0.9, rng.random() * 0.9) for _ in range(5))))
    return bytes(rng.random() < shares[slot & 1] for slot in range(PATTERN))


def prove(seed: int, bench: CoreBench, layout: Layout = LAYOUT) -> Proved:
    """Runs the program of `seed` on both; Divergence if they differ."""
    program, taken, waits = generate(seed, layout), pattern_of(seed), waits_of(seed)
    bench.load(program.image)
    bench.registers[:] = 0
    bench.reset(taken, waits)
    processor = Processor(Memory(len(program.image)), PlainRegisters())
    processor.write(0, program.image)
    tracer, clock = Tracer(processor), SlotClock(taken, waits)
    history: deque[Retire] = deque(maxlen=8)
    count = 0
    for slot, seen in _retired(bench):
        model = tracer.step()
        if model is None:
            raise Divergence(
                f"seed {seed}, instruction {count}: the core retires {seen}; the model has {processor.trap}"
            )
        history.append(model)
        expected = clock.retire(model)
        if comparable(model) != seen or slot != expected:
            raise Divergence(_difference(seed, count, history, seen, slot, expected))
        count += 1
    if tracer.step() is not None or processor.trap is None:
        raise Divergence(f"seed {seed}: the core stops after {count} instructions with {bench.trap}; the model goes on")
    _compare_end(seed, program, processor, bench)
    return Proved(count, bench.slot)


def comparable(model: Retire) -> tuple[int, ...]:
    """A record of the model in the order of `FIELDS`."""
    return (
        model.pc,
        model.word,
        *((model.rd, model.result) if model.rd >= 0 else (-1, 0)),
        *((model.base, model.moved) if model.base >= 0 else (-1, 0)),
        *((model.address, model.data) if model.store else (-1, 0)),
    )


def _retired(bench: CoreBench) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Slot and comparable record of each instruction that the core retires, until it traps."""
    limit = 50 * PATTERN
    while bench.trap is None:
        rows = bench.run(limit)
        if not len(rows) and bench.trap is None:  # the trap alone may be left for a run of its own
            raise Divergence(f"the core retires nothing in {limit} slots")
        for slot, *seen in bench.comparable(rows):
            yield slot, tuple(seen)


def _difference(
    seed: int, count: int, history: Sequence[Retire], seen: tuple[int, ...], slot: int, expected: int
) -> str:
    lines = [f"seed {seed}, instruction {count}: model and core differ; the last instructions were"]
    lines += [f"  {record.pc:06x}: {record.word:08x}  {disassemble(record.word)}" for record in history]
    for name, ours, theirs in zip(FIELDS, comparable(history[-1]), seen, strict=True):
        mark = "" if ours == theirs else "  <--"
        lines.append(f"  {name:8} model {ours:#x}, core {theirs:#x}{mark}")
    lines.append(f"  slot     model {expected}, core {slot}{'' if slot == expected else '  <--'}")
    return "\n".join(lines)


def _compare_end(seed: int, program: Program, processor: Processor, bench: CoreBench) -> None:
    trap = processor.trap
    assert trap is not None
    if bench.trap != Trapped(trap.cause, trap.pc):
        raise Divergence(f"seed {seed}: the model ends with {trap}, the core with {bench.trap}")
    if trap.cause is not program.cause:
        raise Divergence(f"seed {seed}: both end with {trap}, the program wanted {program.cause.name}")
    differing = np.flatnonzero(bench.sram[: len(processor.memory.words)] != np.asarray(processor.memory.words))
    if len(differing):
        raise Divergence(f"seed {seed}: SRAM differs in {len(differing)} words, the first at {4 * differing[0]:#x}")
    for offset in SCRATCH:
        model, core = processor.registers.read(offset), int(bench.registers[offset // 4])
        if model != core:
            raise Divergence(
                f"seed {seed}: on-chip register {offset:#x} is {model:#x} in the model, {core:#x} in the core"
            )


def prove_many(seed: int, instructions: int) -> Iterator[Proved]:
    """Programs from `seed` on until as many instructions retired."""
    bench = CoreBench(LAYOUT.size)
    while instructions > 0:
        proved = prove(seed, bench)
        yield proved
        instructions -= proved.instructions
        seed += 1
