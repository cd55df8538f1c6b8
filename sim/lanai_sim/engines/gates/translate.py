"""A design to machine code, by llvmlite.

As a program (`python -m lanai_sim.engines.gates.translate`) it reads pickled designs from standard input, each with
whether its model has outputs for waveforms, and writes the pickled objects and descriptions.
"""

import gc
import json
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import Any

import llvmlite.binding as llvm

from lanai_host.compilers import V3, level

from ..designs import Design
from . import cases, ports
from .code import Code
from .layout import Layout, widths_of
from .netlist import Netlist
from .outside import OutsideCore, goes, reads
from .sources import Bits, width_of
from .step import text

LEVEL = 1  # of LLVM's optimisation: 2 and 3 take longer for the same speed
# A step is one block of thousands of instructions. Scheduled for few registers it has 4 to 5 % fewer of them, as less
# is put on the stack. LLVM's options are those of a whole process: others compile firmware, which is to stay as it is.
OPTIONS = ("-pre-RA-sched=list-burr", "-enable-misched=false")
DEPTH = 1_000_000  # of Python's calls, as deep as the longest chain of values, and the stack they need
STACK = 1 << 29


def translated(rtlil_text: str, design: Design | None = None, signals: bool = False) -> tuple[bytes, bytes]:
    """Return machine code and the description of a design, from its RTLIL. Ports of a `design` lie where the native
    engine has them. `signals`: all signals with names are outputs. Raises UserError for what has no model."""
    netlist = Netlist(rtlil_text)
    inputs, outputs = widths_of(netlist.inputs), widths_of(netlist.outputs)
    layout = Layout.of(netlist, *(ports.blocks(design, inputs, outputs) if design else ()))
    more = {ports.ISSUES: goes(netlist)} if ports.ISSUES in layout.outputs.places else {}
    shown: dict[str, Bits] = netlist.named() if signals else {}
    layout.outputs.add({name: width_of(bits) for name, bits in shown.items()})
    widths = {one.name: one.width for one in netlist.fields}
    usual = cases.known(widths, design.config) if design and not signals else []
    core = OutsideCore.of(netlist, layout) if more else None
    functions = [reads(netlist, layout, core)] if core else [Code("reads")]
    state, store = layout.beginning(netlist)
    _initialize()
    module, machine = llvm.parse_assembly(text(netlist, layout, more | shown, functions, usual)), _machine()
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    options.slp_vectorization = options.loop_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    description = {
        "layout": asdict(layout),
        "begins": state.hex(),
        "store": store.hex(),
        "core": asdict(core) if core else None,
        "signals": list(shown),
        "scopes": netlist.scopes() if signals else {},
    }
    return machine.emit_object(module), json.dumps(description).encode()


def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine() -> Any:
    """For all processors of the level if this one has it: that takes 1 % of the speed at most."""
    cpu, features = (V3, "") if level() == V3 else (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, reloc="pic", codemodel="small")


def made(wanted: Sequence[tuple[Design, bool]]) -> list[tuple[bytes, bytes]]:
    """Return machine code and description of each design, which is elaborated here."""
    from amaranth.back import rtlil  # here, for a model from the cache needs no Amaranth

    from lanai_hdl.run_time import RunTimeNumbers

    from ..gateware.verilog import top

    found = []
    for general, signals in wanted:
        platform = RunTimeNumbers(general.config)
        text_ = rtlil.convert(top(general), name=general.top, platform=platform, emit_src=False)
        found.append(translated(text_, general, signals))
    return found


def deeply(make: Callable[[], list[tuple[bytes, bytes]]]) -> list[tuple[bytes, bytes]]:
    """Return what `make` returns, in a thread whose stack is deep enough for `translated`."""
    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK)
    sys.setrecursionlimit(DEPTH)
    try:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(make).result()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)


if __name__ == "__main__":
    for option in OPTIONS:
        llvm.set_option("", option)
    gc.disable()  # elaboration keeps what it makes: looking for garbage takes a third of its time
    pickle.dump(deeply(partial(made, pickle.load(sys.stdin.buffer))), sys.stdout.buffer)
    sys.stdout.flush()
