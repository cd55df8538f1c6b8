"""The proof of the core: random programs on the golden model and on the Verilated core, compared
instruction by instruction.

Compared are, for each retired instruction, its address, its word, what it wrote to registers and
memory, and the slot in which it retired; then the trap that ends the program, the whole SRAM and
the on-chip registers. Meanwhile other requesters take slots at random, and the core is made to wait
at random.
"""

import ctypes
import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from amaranth.lib import data
from numpy.typing import NDArray

from lanai_firmware.disasm import disassemble
from lanai_firmware.fuzz import Layout, Program, generate
from lanai_firmware.iss import Memory, PlainRegisters, Processor
from lanai_firmware.iss.retire import Retire, Tracer
from lanai_firmware.iss.timing import SlotClock
from lanai_hdl import machine
from lanai_hdl.core.core import Core
from lanai_hdl.core.retire import Retired
from lanai_hdl.isa import TrapCause
from lanai_hdl.verilog import by_yosys

from ..engines import designs
from ..engines.verilated import Model
from ..engines.verilator import Source, library

# The Verilated core on a bench, from Python: load a memory, say which slots are taken, run, get retire records.
#
# The bench is harness.cc: SRAM of any size below the register window, on-chip registers that are 1024 plain words.


TOP = "lanai_core"

# struct Retired of harness.cc.
RECORD = np.dtype(
    [
        ("slot", "u8"),
        ("pc", "u4"),
        ("word", "u4"),
        ("result", "u4"),
        ("moved", "u4"),
        ("address", "u4"),
        ("data", "u4"),
        ("rd", "u1"),
        ("rd_we", "u1"),
        ("base", "u1"),
        ("base_we", "u1"),
        ("access", "u1"),
        ("store", "u1"),
        ("", "V2"),
    ]
)

# What a proof compares, beside the slot. Registers and addresses are -1, and values 0, where there
# is none.
FIELDS = ("pc", "word", "rd", "result", "base", "moved", "address", "data")


@dataclass(frozen=True)
class Trapped:
    """The core stopped."""

    cause: TrapCause
    pc: int


def _retire_layout() -> str:
    """Return where the retire port's fields are, for the harness."""
    layout = data.Layout.cast(Retired)
    lines = [f"constexpr int RETIRE_WORDS = {-(-layout.size // 32)};", "#define RETIRE(name) RETIRE_##name"]
    for name, field in layout:
        lines.append(f"#define RETIRE_{name} field({field.offset}, {field.width})")
    return "\n".join(lines) + "\n"


@cache
def _library(size: int) -> ctypes.CDLL:
    def make() -> list[Model]:
        return [Model(TOP, {f"{TOP}.v": by_yosys(Core(size), TOP)})]

    source = Source((*designs.key(()), TOP, size), make)
    harness = files(__package__).joinpath("harness.cc").read_text()
    path = library(source, harness, extra={"retire_layout.h": _retire_layout()})
    loaded = ctypes.CDLL(str(path))
    for name, result, arguments in (
        ("new", ctypes.c_void_p, (ctypes.c_uint32,)),
        ("delete", None, ()),
        ("sram", ctypes.c_void_p, ()),
        ("registers", ctypes.c_void_p, ()),
        ("reset", None, ()),
        ("taken", None, (ctypes.c_char_p, ctypes.c_uint32)),
        ("waits", None, (ctypes.c_char_p, ctypes.c_uint32)),
        ("slot", ctypes.c_uint64, ()),
        ("lbus_slots", ctypes.c_uint64, ()),
        ("trap", ctypes.c_uint64, ()),
        ("idle", ctypes.c_uint32, ()),
        ("run", ctypes.c_uint32, (ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32)),
    ):
        function = getattr(loaded, f"core_{name}")
        function.restype = result
        function.argtypes = arguments if name == "new" else (ctypes.c_void_p, *arguments)
    return loaded


class CoreBench:
    """One core with an SRAM of `size` bytes, held in reset until `reset`.

    `taken` is a pattern of slots, repeated for ever: nonzero where another requester has the slot.
    `waits` likewise says when the core's wait input is high.
    """

    def __init__(self, size: int, room: int = 4096) -> None:
        self._api = _library(size)
        self._bench = self._api.core_new(size // 4)
        self._records = np.zeros(room, RECORD)
        self.sram = self._view(self._api.core_sram(self._bench), size // 4)
        self.registers = self._view(self._api.core_registers(self._bench), 1024)

    @staticmethod
    def _view(address: int, words: int) -> NDArray[np.uint32]:
        return np.ctypeslib.as_array((ctypes.c_uint32 * words).from_address(address))

    def __enter__(self) -> "CoreBench":
        return self

    def __exit__(self, *_: Any) -> None:
        self._api.core_delete(self._bench)
        self._bench = None

    def load(self, image: bytes) -> None:
        """Puts big-endian bytes at address 0."""
        self.sram[: len(image) // 4] = np.frombuffer(image, ">u4")

    def reset(self, taken: Sequence[int] = (0,), waits: Sequence[int] = (0,)) -> None:
        """Resets the core; its first slot is number 0."""
        self._api.core_taken(self._bench, bytes(taken), len(taken))
        self._api.core_waits(self._bench, bytes(waits), len(waits))
        self._api.core_reset(self._bench)

    def run(self, slots: int) -> NDArray[Any]:
        """Runs up to that many slots, fewer if the record buffer fills or the core traps. The
        records are good until the next call."""
        pointer = self._records.ctypes.data
        return self._records[: self._api.core_run(self._bench, slots, pointer, len(self._records))]

    @staticmethod
    def comparable(rows: NDArray[Any]) -> Iterator[list[int]]:
        """Each record as [slot, *FIELDS]."""
        table = np.empty((len(rows), 1 + len(FIELDS)), np.int64)
        for column, name in enumerate(("slot", *FIELDS)):
            table[:, column] = rows[name]
        for name, enable in (("rd", "rd_we"), ("base", "base_we"), ("address", "store")):
            table[rows[enable] == 0, 1 + FIELDS.index(name)] = -1
            table[rows[enable] == 0, 2 + FIELDS.index(name)] = 0
        yield from table.tolist()

    @property
    def slot(self) -> int:
        """Slots since reset."""
        return int(self._api.core_slot(self._bench))

    @property
    def lbus_slots(self) -> int:
        """Slots granted to the core since reset."""
        return int(self._api.core_lbus_slots(self._bench))

    @property
    def idle(self) -> bool:
        return bool(self._api.core_idle(self._bench))

    @property
    def trap(self) -> Trapped | None:
        value = int(self._api.core_trap(self._bench))
        return Trapped(TrapCause(value >> 1 & 0xFF), value >> 9) if value & 1 else None


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
    """A record of the model in the order of `core_rtl.FIELDS`."""
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
    with CoreBench(LAYOUT.size) as bench:
        while instructions > 0:
            proved = prove(seed, bench)
            yield proved
            instructions -= proved.instructions
            seed += 1
