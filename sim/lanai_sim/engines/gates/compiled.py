"""Models as machine code: built once for each design by llvmlite, then loaded from the cache.

An entry holds `model.o` and `model.json`, which says where its fields, inputs, outputs, numbers and memories lie.
As a program (`python -m lanai_sim.engines.gates.compiled`) it reads pickled designs from standard input and writes the
pickled entries.
"""

import ctypes
import gc
import json
import pickle
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from lanai_firmware import building, cache
from lanai_hdl.errors import UserError

from ..designs import NIC_TOP, Design, key, sources_digest
from ..elaboration import CHANGED, in_fresh_process
from .code import container
from .netlist import Netlist
from .step import Block, Layout, numbers_of, text

MAKER = "lanai_sim.engines.gates.compiled"
LEVEL = 1  # of LLVM's optimisation: 2 and 3 take longer for the same speed
DEPTH = 1_000_000  # of Python's calls, as deep as the longest chain of values, and the stack they need
STACK = 1 << 29
STEP = "translating the gateware to machine code"
PROCESSOR, FEATURES = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


class Model:
    """A compiled netlist. `layout` says where its values lie, `state` and `store` are how they begin."""

    def __init__(self, code: bytes, description: bytes) -> None:
        told = json.loads(description)
        self.state, self.store = bytes.fromhex(told["begins"]), bytes.fromhex(told["store"])
        self.layout = Layout.from_json(told["layout"])
        _initialize()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())  # takes the machine for itself
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        pointer = ctypes.c_void_p
        run = ctypes.CFUNCTYPE(pointer, pointer, pointer, ctypes.c_uint64, pointer, pointer, pointer)
        self.run: Callable[..., int] = run(self._engine.get_function_address("run"))


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

    def field(self, name: str) -> int:
        """Return the value of a register's field now."""
        at, width = self._model.layout.state.places[name]
        return int.from_bytes(self._state.tobytes()[at : at + container(width) // 8], "little")


def translated(rtlil_text: str) -> tuple[bytes, bytes]:
    """Return machine code and the description of a design, from its RTLIL. Raises UserError for what no model can be
    made of."""
    netlist = Netlist(rtlil_text)
    layout = Layout.of(netlist)
    state, store = layout.beginning(netlist)
    _initialize()
    module, machine = llvm.parse_assembly(text(netlist, layout)), _machine()
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    options.slp_vectorization = options.loop_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    description = {"layout": asdict(layout), "begins": state.hex(), "store": store.hex()}
    return machine.emit_object(module), json.dumps(description).encode()


def model(design: Design) -> Model:
    """The model of a NIC or of what joins NICs, from the cache if it is there. It has no blocks that rest."""
    package = __name__.rpartition(".")[0]
    processor = (llvmlite.__version__, PROCESSOR, FEATURES, LEVEL)
    sources = key([design])
    made_of = (*sources, sources_digest([package]), *processor)

    def make(work: Path) -> None:
        with building.Work(
            f"the model of the {'NICs' if design.top == NIC_TOP else 'switch'}", "", {STEP: 9.0}
        ) as told:
            told.step(STEP)
            [(code, description)] = in_fresh_process(MAKER, [design])
        if key([design]) != sources:
            raise UserError(CHANGED)
        (work / "model.o").write_bytes(code)
        (work / "model.json").write_bytes(description)

    entry = cache.entry("gates", cache.key_of([repr(made_of)]), make)
    return Model((entry / "model.o").read_bytes(), (entry / "model.json").read_bytes())


def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine() -> Any:
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=PROCESSOR, features=FEATURES, reloc="pic", codemodel="small")


def _dtype(block: Block) -> "np.dtype[np.void]":
    """A block as numpy sees it. What has more than 64 bits is an array of words, the lowest first."""
    formats = [
        f"<u{container(width) // 8}" if width <= 64 else f"({container(width) // 64},)<u8"
        for _, width in block.places.values()
    ]
    offsets = [at for at, _ in block.places.values()]
    return np.dtype({"names": [*block.places], "formats": formats, "offsets": offsets, "itemsize": block.size})


def _answer() -> None:
    from amaranth.back import rtlil  # here, for a model from the cache needs no Amaranth

    from lanai_hdl.run_time import RunTimeNumbers

    from ..gateware.verilog import top

    found = []
    for design in pickle.load(sys.stdin.buffer):
        general = design.general
        platform = RunTimeNumbers(general.config)
        made = rtlil.convert(top(general, resting=False), name=design.top, platform=platform, emit_src=False)
        found.append(translated(made))
    pickle.dump(found, sys.stdout.buffer)


if __name__ == "__main__":
    gc.disable()  # elaboration keeps what it makes: looking for garbage takes a third of its time
    sys.setrecursionlimit(DEPTH)
    threading.stack_size(STACK)
    threading.Thread(target=_answer).start()
