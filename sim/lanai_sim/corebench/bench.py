"""One core on a bench, as a model by LLVM: load a memory, say which slots are taken, run, get what retired.

The bench has an SRAM, on-chip registers that are 1024 plain words, and answers to the core's requests. As a program
(`python -m lanai_sim.corebench.bench`) it elaborates and translates benches, whose sizes it reads from standard input.
"""

import pickle
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanai_firmware import building
from lanai_firmware import cache as entries
from lanai_firmware.package_images import llvm_version
from lanai_hdl.isa import TrapCause
from lanai_host.compilers import level

from ..engines.designs import sources_digest
from ..engines.elaboration import in_fresh_process
from ..engines.gates.compiled import KIND, STEP, Model, Simulation, write

TOP = "lanai_core"
PIECE = 4096  # slots of one call of the model
REGISTERS = 1024  # words
TAKES = 4.0  # seconds, about
WORDS = ("pc", "word", "result", "moved", "address", "data")
BYTES = ("rd", "rd_we", "base", "base_we", "access", "store")
RECORD = np.dtype([("slot", "u8"), *((name, "u4") for name in WORDS), *((name, "u1") for name in BYTES)])
# What a proof compares, beside the slot. Registers and addresses are -1, and values 0, where there
# is none.
FIELDS = ("pc", "word", "rd", "result", "base", "moved", "address", "data")


def top(size: int) -> Any:
    """Return the gateware of a bench whose SRAM has so many bytes."""
    from amaranth import Module
    from amaranth.lib import data, memory, wiring
    from amaranth.lib.wiring import In, Out

    from lanai_hdl.config import lanai41
    from lanai_hdl.core.core import Core
    from lanai_hdl.core.retire import Retired
    from lanai_hdl.sram.memory import InstanceSram

    fields = dict(data.Layout.cast(Retired))
    shapes = {name: fields[name].shape for name in ("valid", *WORDS, *BYTES)}

    class Top(wiring.Component):
        """`taken`: another requester has the slot; `wait`: the core's wait input. A member for each field of `retire`
        and of `trap`."""

        def __init__(self) -> None:
            super().__init__(
                {"taken": In(1), "wait": In(1), "idle": Out(1), "granted": Out(64), "trapped": Out(1), "cause": Out(8),
                 "trap_pc": Out(32), **{name: Out(shape) for name, shape in shapes.items()}}
            )  # fmt: skip

        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.submodules.core = core = Core(size)
            m.submodules.sram = sram = InstanceSram(lanai41().but(sram_size=size))
            m.submodules.words = words = memory.Memory(shape=32, depth=REGISTERS, init=[])
            read, written = words.read_port(), words.write_port()
            grant = core.lbus.request & ~self.taken
            m.d.comb += [
                core.run.eq(1),
                core.wait.eq(self.wait),
                core.lbus.grant.eq(grant),
                sram.port.enable.eq(grant),
                sram.port.write.eq(core.lbus.write),
                sram.port.addr.eq(core.lbus.addr[2:]),
                sram.port.wdata.eq(core.lbus.wdata),
                sram.port.be.eq(core.lbus.be),
                core.lbus.rdata.eq(sram.port.rdata),
                read.addr.eq(core.regs.addr[2:]),
                read.en.eq(core.regs.read),
                core.regs.rdata.eq(read.data),
                written.addr.eq(core.regs.addr[2:]),
                written.data.eq(core.regs.wdata),
                written.en.eq(core.regs.write),
                self.idle.eq(core.idle),
                self.trapped.eq(core.trap.valid),
                self.cause.eq(core.trap.cause),
                self.trap_pc.eq(core.trap.pc),
                *(getattr(self, name).eq(getattr(core.retire, name)) for name in shapes),
            ]
            m.d.sync += [core.odd.eq(~core.odd), self.granted.eq(self.granted + grant)]
            return m

    return Top()


@cache
def _model(size: int) -> Model:
    sources = sources_digest(["lanai_hdl", "lanai_sim.engines.gates", "lanai_sim.corebench"])
    made_of = repr(("core", sources, size, level()))
    key = entries.Key(entries.key_of([made_of]), lambda: (version("amaranth"), llvm_version()))

    def put(folder: Any) -> None:
        with building.Work("the model of the core", "", {STEP: TAKES}) as told:
            told.step(STEP)
            [made] = in_fresh_process(__name__, [size])
            write(folder, made)

    return Model(entries.entry(KIND, key, put))


@dataclass(frozen=True)
class Trapped:
    """The core stopped."""

    cause: TrapCause
    pc: int


class CoreBench:
    """One core with an SRAM of `size` bytes, held in reset until `reset`.

    `taken` is a pattern of slots, repeated for ever: nonzero where another requester has the slot.
    `waits` likewise says when the core's wait input is high. `slot` and `lbus_slots`: slots since reset, and those of
    them that were granted to the core.
    """

    def __init__(self, size: int) -> None:
        self._model = _model(size)
        self.sram = np.zeros(size // 4, np.uint32)
        self.registers = np.zeros(REGISTERS, np.uint32)

    def load(self, image: bytes) -> None:
        """Puts big-endian bytes at address 0."""
        self.sram[: len(image) // 4] = np.frombuffer(image, ">u4")

    def reset(self, taken: Sequence[int] = (0,), waits: Sequence[int] = (0,)) -> None:
        """Resets the core; its first slot is number 0. Memory and registers stay as they are."""
        self._core = Simulation(self._model)
        for own, inside in (("sram", self._core.sram), ("registers", self._core.memory(f"{TOP}.words"))):
            inside[:] = getattr(self, own)
            setattr(self, own, inside)
        self._taken, self._waits = (np.asarray(list(pattern), bool) for pattern in (taken, waits))
        self._last = np.zeros(1, self._core.outputs)[0]
        self.slot = 0

    def run(self, slots: int) -> NDArray[Any]:
        """Runs so many slots, fewer if the core traps. Return what retired in them."""
        found = []
        while slots > 0 and not self._last["trapped"]:
            found.append(self._piece(min(slots, PIECE)))
            slots -= PIECE
        return np.concatenate(found) if found else np.zeros(0, RECORD)

    def _piece(self, slots: int) -> NDArray[Any]:
        given = np.zeros(slots, self._core.inputs)
        numbers = np.arange(self.slot, self.slot + slots)
        given["taken"] = self._taken[numbers % len(self._taken)]
        given["wait"] = self._waits[numbers % len(self._waits)]
        shown = self._core.run(given)
        (trapped,) = np.nonzero(shown["trapped"])
        shown = shown[: trapped[0] + 1] if len(trapped) else shown
        # What a slot shows stands behind the edge that begins it.
        seen = np.concatenate([np.array([self._last], shown.dtype), shown[:-1]])
        (valid,) = np.nonzero(seen["valid"])
        rows = np.zeros(len(valid), RECORD)
        rows["slot"] = self.slot + valid
        for name in (*WORDS, *BYTES):
            rows[name] = seen[name][valid]
        self.slot += len(shown)
        self._last = shown[-1]
        return rows

    @staticmethod
    def comparable(rows: NDArray[Any]) -> list[list[int]]:
        """Each record as [slot, *FIELDS]."""
        table = np.empty((len(rows), 1 + len(FIELDS)), np.int64)
        for column, name in enumerate(("slot", *FIELDS)):
            table[:, column] = rows[name]
        for name, enable in (("rd", "rd_we"), ("base", "base_we"), ("address", "store")):
            table[rows[enable] == 0, 1 + FIELDS.index(name)] = -1
            table[rows[enable] == 0, 2 + FIELDS.index(name)] = 0
        found: list[list[int]] = table.tolist()
        return found

    @property
    def lbus_slots(self) -> int:
        return int(self._last["granted"])

    @property
    def idle(self) -> bool:
        return bool(self._last["idle"])

    @property
    def trap(self) -> Trapped | None:
        if not self._last["trapped"]:
            return None
        return Trapped(TrapCause(int(self._last["cause"])), int(self._last["trap_pc"]))


if __name__ == "__main__":
    from amaranth.back import rtlil

    from ..engines.gates.translate import deeply, translated

    def made(sizes: Sequence[int]) -> list[tuple[bytes, bytes]]:
        return [translated(rtlil.convert(top(size), name=TOP, emit_src=False)) for size in sizes]

    pickle.dump(deeply(partial(made, pickle.load(sys.stdin.buffer))), sys.stdout.buffer)
    sys.stdout.flush()
