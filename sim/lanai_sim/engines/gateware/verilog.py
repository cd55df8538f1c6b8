"""Verilog of the NIC and of what joins NICs as the `rtl` engine steps them.

As a program (`python -m lanai_sim.engines.gateware.verilog`) it reads pickled calls from standard
input and writes the pickled texts.
"""

import gc
import pickle
import re
import sys
from functools import cache

from amaranth.back import verilog

from lanai_hdl.config import NicConfig
from lanai_hdl.nic import Nic
from lanai_hdl.ring.config import RingConfig
from lanai_hdl.segment.config import SegmentConfig
from lanai_hdl.sram.memory import VERILOG as SRAM
from lanai_hdl.switch_config import SwitchConfig

from ..designs import NIC_TOP, SWITCH_TOP, Design
from .probe import ProbedNic, ProbedSteppedNic
from .stepped import SteppedNic, SteppedSwitch
from .units import unit

NEXT = re.compile(r"always @\(posedge [^)]*\)\s+(\S+)\s+<= (\\\$\d+ );")


@cache
def nic_verilog(config: NicConfig, probes: bool = False, as_synthesized: bool = False) -> str:
    """The NIC as the engine steps it; with `probes`, as a traced run needs it."""
    if probes:
        nic: SteppedNic = ProbedSteppedNic(ProbedNic(config), as_synthesized=as_synthesized)
    else:
        nic = SteppedNic(Nic(config), as_synthesized=as_synthesized)
    return _stable(verilog.convert(nic, name=NIC_TOP))


@cache
def switch_verilog(config: SwitchConfig | SegmentConfig | RingConfig, as_synthesized: bool = False) -> str:
    """The switch, or what takes its place, as the engine steps it."""
    switch = unit(config)
    return _stable(verilog.convert(switch if as_synthesized else SteppedSwitch(switch), name=SWITCH_TOP))


def files_of(design: Design) -> dict[str, str]:
    """The texts that Verilator needs, by file name."""
    if isinstance(design.config, NicConfig):
        return {"nic.v": nic_verilog(design.config, design.probes, design.as_synthesized), SRAM.name: SRAM.read_text()}
    return {"switch.v": switch_verilog(design.config, design.as_synthesized)}


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
