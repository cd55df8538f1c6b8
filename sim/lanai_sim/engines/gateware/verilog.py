"""Verilog of the NIC and of what joins NICs as the `rtl` engine steps them.

As a program (`python -m lanai_sim.engines.gateware.verilog`) it reads pickled calls from standard
input and writes the pickled texts.
"""

import gc
import pickle
import re
import sys
from collections.abc import Mapping
from functools import cache

from amaranth.back import verilog
from amaranth.lib import wiring

from lanai_hdl import numbers
from lanai_hdl.config import NicConfig
from lanai_hdl.nic import Nic
from lanai_hdl.run_time import MODULE, RunTimeNumbers
from lanai_hdl.sram.memory import VERILOG as SRAM

from ..designs import Design
from .probe import ProbedNic, ProbedSteppedNic
from .stepped import SteppedNic, SteppedSwitch
from .units import unit

NEXT = re.compile(r"always @\(posedge [^)]*\)\s+(\S+)\s+<= (\\\$\d+ );")


@cache
def nic_verilog(config: NicConfig, probes: bool = False, as_synthesized: bool = False) -> str:
    """The NIC as the engine steps it; with `probes`, as a traced run needs it."""
    return _verilog(Design(config, probes, as_synthesized).general)


def files_of(design: Design) -> dict[str, str]:
    """The texts that Verilator needs, by file name."""
    design = design.general
    most = {} if design.as_synthesized else numbers.greatest(design.config)
    known = {f"{design.top}_numbers.v": _numbers_verilog(most)} if most else {}
    if isinstance(design.config, NicConfig):
        return {"nic.v": _verilog(design), SRAM.name: SRAM.read_text(), **known}
    return {"switch.v": _verilog(design), **known}


def _verilog(design: Design) -> str:
    platform = None if design.as_synthesized else RunTimeNumbers(design.config)
    return _stable(verilog.convert(top(design), name=design.top, platform=platform))


def top(design: Design, *, resting: bool = True) -> wiring.Component:
    """The component that a model of the design is made of. `resting`: blocks that rest have clocks of their own."""
    config, as_synthesized = design.config, design.as_synthesized
    if not isinstance(config, NicConfig):
        return unit(config) if as_synthesized else SteppedSwitch(unit(config))
    if design.probes:
        return ProbedSteppedNic(ProbedNic(config), as_synthesized=as_synthesized, resting=resting)
    return SteppedNic(Nic(config), as_synthesized=as_synthesized, resting=resting)


def _numbers_verilog(greatest: Mapping[str, int]) -> str:
    """The module with the numbers. It reads them when the model begins, from the model's command line.
    What follows from them alone is then worked out once, and not in each slot, as what follows from
    inputs is."""
    outputs = ",\n".join(f"  output reg [{value.bit_length() - 1}:0] {name}" for name, value in greatest.items())
    reads = "\n".join(f'    if (!$value$plusargs("{name}=%d", {name})) $stop;' for name in greatest)
    return f"module {MODULE} (\n{outputs}\n);\n  initial begin\n{reads}\n  end\nendmodule\n"


def _stable(text: str) -> str:
    """The same text wherever the sources lie, with names that stay when another expression is
    written before: attributes that name source files are left out, and the next value of a
    register, which Amaranth only numbers, is called `<register>$next`."""
    text = re.sub(r"\(\* src = .*? \*\)", "", text)
    return re.sub(r"^module .*?^endmodule$", lambda module: _next_named(module[0]), text, flags=re.M | re.S)


def _next_named(module: str) -> str:
    names = {number: f"\\{register.lstrip(chr(92))}$next " for register, number in NEXT.findall(module)}
    return re.sub(r"\\\$\d+ ", lambda number: names.get(number[0], number[0]), module)


if __name__ == "__main__":
    gc.disable()  # elaboration keeps what it makes: looking for garbage takes a third of its time
    pickle.dump([files_of(design) for design in pickle.load(sys.stdin.buffer)], sys.stdout.buffer)
