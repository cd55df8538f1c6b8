"""Models as machine code: built once for each design, then loaded from the cache.

An entry holds `model.so` and `model.json`, which says where its fields, inputs, outputs, numbers and memories lie.
"""

import ctypes
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanai_firmware import building
from lanai_firmware import cache as entries
from lanai_firmware.package_images import llvm_version
from lanai_hdl.errors import UserError
from lanai_host.compilers import Language, find, level

from ..designs import NIC_TOP, SWITCH_TOP, Design, made_of_sources, sources_digest
from ..elaboration import CHANGED, in_fresh_process
from . import cases
from .code import container
from .layout import Block, Layout, numbers_of
from .outside import OutsideCore

MAKER = "lanai_sim.engines.gates.translate"
CODE, DESCRIPTION = "model.so", "model.json"
FUNCTIONS = ("step", "show", "reads")
KIND = "gates"  # of the cache's entries
NAMES = {NIC_TOP: "NICs", SWITCH_TOP: "switches"}
TAKES = {NIC_TOP: 5.0, SWITCH_TOP: 1.5}  # seconds, about
STEP = "translating the gateware to machine code"


class Model:
    """A compiled netlist. `layout` says where its values lie, `state` and `store` are how they begin. `core`: what lets
    a NIC's processor leave the model, if anything does. `signals`: its outputs for waveforms, and
    `scopes`: of its modules what `Netlist.scopes` gives."""

    def __init__(self, folder: Path) -> None:
        self.key = folder.name
        told = json.loads((folder / DESCRIPTION).read_bytes())
        self.state, self.store = bytes.fromhex(told["begins"]), bytes.fromhex(told["store"])
        self.layout = Layout.from_json(told["layout"])
        self.core = OutsideCore(**told["core"]) if told["core"] else None
        self.signals: list[str] = told["signals"]
        self.scopes: dict[str, dict[str, Any]] = told["scopes"]
        code = ctypes.CDLL(str(folder / CODE))
        pointer = ctypes.c_void_p
        self.functions = {name: ctypes.cast(getattr(code, name), pointer).value or 0 for name in FUNCTIONS}
        run = ctypes.CFUNCTYPE(pointer, pointer, pointer, ctypes.c_uint64, pointer, pointer, pointer)
        self.run: Callable[..., int] = run(ctypes.cast(code.run, pointer).value or 0)


class Simulation:
    """A model that runs. `numbers` are the run-time numbers of its design."""

    def __init__(self, model: Model, numbers: Mapping[str, int] | None = None) -> None:
        self._model, layout = model, model.layout
        self.inputs, self.outputs = _dtype(layout.inputs), _dtype(layout.outputs)
        store = bytearray(model.store)
        numbers_of(layout, store, numbers or {})
        self._sram = np.zeros(max(layout.sram_words, 1), np.uint32)
        self._store = np.frombuffer(store, np.uint8).view(np.uint64)
        self._store[0] = self._sram.ctypes.data
        self._state = np.frombuffer(bytearray(model.state), np.uint64)
        self._other = np.zeros_like(self._state)

    def run(self, inputs: NDArray[np.void]) -> NDArray[np.void]:
        """Make a step for each row of `inputs`; return the outputs after each."""
        if inputs.dtype != self.inputs:
            raise TypeError(f"the inputs have the type {inputs.dtype}, not that of this model: {self.inputs}")
        outputs = np.zeros(len(inputs), self.outputs)
        if len(inputs):
            blocks = (np.ascontiguousarray(inputs), outputs, self._state, self._other, self._store)
            given, out, state, other, store = (block.ctypes.data for block in blocks)
            if self._model.run(state, given, len(inputs), out, other, store) == other:
                self._state, self._other = self._other, self._state
        return outputs

    @property
    def sram(self) -> NDArray[np.uint32]:
        """The words of its SRAM, which may be changed between two steps."""
        return self._sram

    def memory(self, name: str) -> NDArray[Any]:
        """Return the rows of a memory of at most 64 bits a row, which may be changed between two steps."""
        at, width, rows = self._model.layout.memories[name]
        size = width // 8
        return self._store.view(np.uint8)[at : at + rows * size].view(f"<u{size}")

    @property
    def state(self) -> NDArray[np.uint8]:
        """A copy of all registers."""
        return self._state.view(np.uint8).copy()

    def field(self, name: str) -> int:
        """Return the value of a register's field now."""
        at, width = self._model.layout.state.places[name]
        return int.from_bytes(self._state.tobytes()[at : at + container(width) // 8], "little")


def model(design: Design, signals: bool = False) -> Model:
    """The model of a design, from the cache if it is there: as `models` gives it."""
    return models([(design, signals)])[0]


def models(wanted: Sequence[tuple[Design, bool]]) -> list[Model]:
    """The models of NICs and of what joins NICs, from the cache if they are there. Beside a design stands whether its
    model has outputs for waveforms. Designs that differ in run-time numbers alone have the same."""
    general = [(design.general, signals) for design, signals in wanted]
    keys = [_key(*one) for one in general]
    named = dict(zip(keys, general, strict=True))
    while missing := {key: one for key, one in named.items() if entries.present(KIND, key) is None}:
        _make(missing)
    return [_loaded(key) for key in keys]


def _key(design: Design, signals: bool) -> entries.Key:
    """No linker is in it, as machine code that names no library is linked the same by all."""
    translator = sources_digest([__name__.rpartition(".")[0]])
    usual = [] if signals else cases.texts(design.config)
    made_of = (*made_of_sources([design]), translator, usual, level(), signals)
    return entries.Key(entries.key_of([repr(made_of)]), lambda: (version("amaranth"), llvm_version()))


def _make(missing: Mapping[entries.Key, tuple[Design, bool]]) -> None:
    """Make all models in one process, as that saves a second for each but one. Whoever has the lock of the first one
    does it, and other processes wait: so all take the locks in one order."""
    first, *others = sorted(missing, key=lambda one: one.made_of)

    def put(work: Path) -> None:
        find(Language.C)  # it links: without one the work would be in vain
        left = [first, *(one for one in others if entries.present(KIND, one) is None)]
        made = dict(zip(left, _translated([missing[one] for one in left]), strict=True))
        if any(_key(*missing[one]) != one for one in left):
            raise UserError(CHANGED)
        for one in left[1:]:
            entries.entry(KIND, one, partial(write, made=made[one]))
        write(work, made[first])

    entries.entry(KIND, first, put)


def _translated(wanted: Sequence[tuple[Design, bool]]) -> list[tuple[bytes, bytes]]:
    """Return the machine code of each design, and its description."""
    takes = sum(TAKES[design.top] for design, _ in wanted)
    tops = " and ".join(sorted({NAMES[design.top] for design, _ in wanted}))
    with building.Work(f"the model of the {tops}", "", {STEP: takes}) as told:
        told.step(STEP)
        return in_fresh_process(MAKER, wanted)


def write(folder: Path, made: tuple[bytes, bytes]) -> None:
    """Write a translated design as a model."""
    machine_code, description = made
    (folder / "model.o").write_bytes(machine_code)
    command = ["-shared", "-nostdlib", "-Wl,-Bsymbolic", "-o", str(folder / CODE), str(folder / "model.o")]
    find(Language.C).run(command, "linking a model")
    (folder / "model.o").unlink()
    (folder / DESCRIPTION).write_bytes(description)


@cache
def _loaded(key: entries.Key) -> Model:
    folder = entries.shipped(KIND, key) or entries.where(KIND, key)
    try:
        return Model(folder)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(
            f"cannot load the cached model {str(folder)!r} ({error!r}); remove it, it is then made again"
        ) from error


def _dtype(block: Block) -> "np.dtype[np.void]":
    """A block as numpy sees it. What has more than 64 bits is an array of words, the lowest first."""
    formats = [
        f"<u{container(width) // 8}" if width <= 64 else f"({container(width) // 64},)<u8"
        for _, width in block.places.values()
    ]
    offsets = [at for at, _ in block.places.values()]
    return np.dtype({"names": [*block.places], "formats": formats, "offsets": offsets, "itemsize": block.size})
