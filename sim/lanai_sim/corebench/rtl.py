"""The Verilated core on a bench, from Python: load a memory, say which slots are taken, run, get
retire records.

The bench is harness.cc: SRAM of any size below the register window, on-chip registers that are 1024
plain words.
"""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from amaranth.back import verilog
from amaranth.lib import data
from numpy.typing import NDArray

from lanai_hdl.core.core import Core
from lanai_hdl.core.retire import Retired
from lanai_hdl.isa import TrapCause

from ..engines import designs
from ..engines.verilated import Model
from ..engines.verilator import Source, library

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
        return [Model(TOP, {f"{TOP}.v": verilog.convert(Core(size), name=TOP)})]

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
