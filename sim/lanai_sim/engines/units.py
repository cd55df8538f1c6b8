"""The C++ beside the models: the files of cxx/, each with a header that says what its model has."""

import json
from importlib.resources import files

from lanai_hdl.config import NicConfig
from lanai_hdl.ring.config import RingConfig
from lanai_hdl.segment.config import SegmentConfig
from lanai_hdl.switch_config import SwitchConfig

from .declared import header
from .designs import NIC_TOP, SWITCH_TOP, Design
from .objects import Unit
from .specialized import core, held, rewrite, waiting
from .specialized.case import Moment

SHARED = "words.c"  # text that is also compiled for Python
COMMON = (
    "engine.h",
    "faults.h",
    "memory.h",
    "state.h",
    "trace.h",
    "units.h",
    SHARED,
    "words.h",
)  # headers of all that is compiled
HEADERS = {  # and of what one file is made of
    "engine.cc": (*COMMON, "cut.h", "stepping.h"),
    "nic.cc": (
        *COMMON,
        "continuations.h",
        "core.h",
        "core_execute.h",
        "core_instruction.h",
        "core_pairs.h",
        "core_run.h",
        "core_state.h",
        "nic.h",
        "nic_unit.h",
        "numbers.h",
        "pio.h",
        "replay.h",
        "resting.h",
        "slot_time.h",
        "tick.h",
        "timer.h",
        "waiting.h",
        "wave.h",
        "zeros.h",
    ),
    "switch.cc": (*COMMON, "numbers.h", "switch_unit.h", "tick.h"),
}
SRAM_WORDS = f"{NIC_TOP}__DOT__nic__DOT__sram__DOT__sram__DOT__mem"  # of a NIC's model, as Verilator names them


def nic_header(
    nic: NicConfig,
    probes: bool = False,
    as_synthesized: bool = False,
    specialized: bool = False,
    outside: bool = False,
) -> str:
    """The C++ that knows the NIC's Verilated class and its blocks that rest. `specialized`: there are copies
    of its evaluations, or what stands in for them. `outside`: the processor may leave the model."""
    design = Design(nic, probes, as_synthesized)
    resting = design.resting
    lines = [
        "#pragma once",
        *(["#define LANAI_TRACED"] if probes else []),
        *(["#define LANAI_AS_SYNTHESIZED"] if as_synthesized else []),
        *_model(design, specialized),
        f"using NicModel = V{NIC_TOP};",
        f"#define NIC_SRAM {SRAM_WORDS}",
        *([core.header(nic, f"V{NIC_TOP}___024root")] if outside and not resting and not probes else []),
        *([waiting.header(f"V{NIC_TOP}___024root")] if outside and resting and not probes else []),
        *([f"#define RESTING(X) {' '.join(f'X({name})' for name in resting)}"] if resting else []),
    ]
    return "\n".join(lines) + "\n"


def switch_header(
    switch: SwitchConfig | SegmentConfig | RingConfig, as_synthesized: bool = False, may_hold: bool = False
) -> str:
    """The C++ that knows the switch's Verilated class, and its ports as arrays. `held` evaluates a slot in which no
    STOP changes, if the model `may_hold`: it was made with `Model.held`."""
    wires = (("kind", "CData"), ("data", "IData"), ("stop", "CData"))
    arrays = [(side, port, kind) for side in ("tx", "rx") for port, kind in wires]
    sep = "___05F"  # how Verilator spells Amaranth's `__`
    lines = [
        "#pragma once",
        *(["#define LANAI_AS_SYNTHESIZED"] if as_synthesized else []),
        *_model(Design(switch, as_synthesized=as_synthesized), False),
        f"using SwitchModel = V{SWITCH_TOP};",
        *held.header(f"V{SWITCH_TOP}", may_hold),
        f"#define SWITCH_PORTS {switch.ports}",
        *(["#define SWITCH_CASCADED"] if isinstance(switch, SwitchConfig) and switch.cascaded else []),
        "struct SwitchPorts {",
        *(f"  {kind} *{side}_{port}[SWITCH_PORTS];" for side, port, kind in arrays),
        "  explicit SwitchPorts(SwitchModel& m) {",
    ]
    for n in range(switch.ports):
        lines += [f"    {side}_{port}[{n}] = &m.{side}{sep}{n}{sep}{port};" for side, port, kind in arrays]
    return "\n".join([*lines, "  }", "};"]) + "\n"


def unit(file: str, top: str = "", model: str = "") -> Unit:
    """Return one of the files in cxx/, with its headers; `model`: that of the model `top`."""
    package = files(__package__)
    folder = package.joinpath("cxx")
    texts = {name: (package if name == SHARED else folder).joinpath(name).read_text() for name in HEADERS[file]}
    headers = {**texts, "declared.h": header()}
    if model:
        headers[f"{file.removesuffix('.cc')}_model.h"] = model
    return Unit(top, folder.joinpath(file).read_text(), headers)


def _model(design: Design, specialized: bool) -> list[str]:
    """C++ that knows one Verilated class. `evaluate` is `eval` without what that does for waves,
    messages and models that are deleted, a twentieth of a slot's time. `specialized_MOMENT` does all of an
    evaluation that one of its copies is for, and otherwise nothing. `set_numbers` takes the design's
    numbers in order."""
    top = design.top
    root = f"V{top}___024root"
    copies = []
    for moment in Moment:
        function, asked = rewrite.function(root, moment), f"inline bool specialized_{moment}(V{top}& model)"
        if specialized:
            copies += [f"bool {function}({root}*);", f"{asked} {{ return {function}(model.rootp); }}"]
        else:
            copies.append(f"{asked.replace(' model', '')} {{ return false; }}")
    for moment in (Moment.OWN, Moment.STATE, Moment.INPUTS) if design.resting else ():
        function, asked = f"{root}___general_{moment}", f"inline bool general_{moment}(V{top}& model)"
        if specialized:
            copies += [f"bool {function}({root}*);", f"{asked} {{ return {function}(model.rootp); }}"]
        else:
            copies.append(f"{asked.replace(' model', '')} {{ return false; }}")
    return [
        '#include "numbers.h"',
        f'#include "V{top}.h"',
        f'#include "{root}.h"',
        f"void {root}___eval({root}*);",
        f"inline void evaluate(V{top}& model) {{",
        "#if VM_TRACE || defined(LANAI_AS_SYNTHESIZED)",
        "  model.eval();",
        "#else",
        f"  {root}___eval(model.rootp);",
        "#endif",
        "}",
        *copies,
        f"inline void set_numbers(V{top}& model, const uint32_t* numbers) {{",
        f"  give_numbers(*model.contextp(), {{{', '.join(map(json.dumps, design.numbers))}}}, numbers);",
        "}",
    ]
