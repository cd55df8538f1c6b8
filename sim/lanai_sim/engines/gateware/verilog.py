"""The NIC and what joins NICs as a model has them, and their Verilog as they are synthesized.

As a program (`python -m lanai_sim.engines.gateware.verilog`) it reads pickled calls from standard
input and writes the pickled texts.
"""

import gc
import pickle
import re
import sys

from amaranth.lib import wiring

from lanai_hdl.config import NicConfig
from lanai_hdl.nic import Nic
from lanai_hdl.sram.memory import VERILOG as SRAM
from lanai_hdl.verilog import by_yosys

from ..designs import Design
from .probe import ProbedNic, ProbedSteppedNic
from .stepped import SteppedNic, SteppedSwitch
from .units import unit

NEXT = re.compile(r"always @\(posedge [^)]*\)\s+(\S+)\s+<= (\\\$\d+ );")


def files_of(design: Design) -> dict[str, str]:
    """The texts that Verilator needs, by file name, of a design as it is synthesized."""
    text = _stable(by_yosys(top(design), design.top))
    if isinstance(design.config, NicConfig):
        return {"nic.v": text, SRAM.name: SRAM.read_text()}
    return {"switch.v": text}


def top(design: Design) -> wiring.Component:
    """The component that a model of the design is made of."""
    config, as_synthesized = design.config, design.as_synthesized
    if not isinstance(config, NicConfig):
        return unit(config) if as_synthesized else SteppedSwitch(unit(config))
    if design.probes:
        return ProbedSteppedNic(ProbedNic(config), as_synthesized=as_synthesized)
    return SteppedNic(Nic(config), as_synthesized=as_synthesized)


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
