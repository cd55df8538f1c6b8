"""The NIC and what joins NICs as a model has them, and their Verilog as they are synthesized.

As a program (`python -m lanai_sim.engines.gateware.verilog`) it reads pickled calls from standard
input and writes the pickled texts.
"""

import gc
import pickle
import re
import sys
from typing import Any

from amaranth import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from lanai_hdl.config import NicConfig
from lanai_hdl.csr.declare import Counter, EventBit
from lanai_hdl.lbus.masters import CPU, HDMA, PIO, RECV, SEND
from lanai_hdl.nic import Nic
from lanai_hdl.receive_dma.engine import END_BITS, VERDICT_BITS
from lanai_hdl.sram.memory import VERILOG as SRAM
from lanai_hdl.verilog import by_yosys

from ..designs import Design
from .block_signals import MOST, block_signals
from .stepped import SteppedNic, SteppedSwitch
from .units import unit

# The NIC with its inside shown: the same gateware, and registers that repeat what went on in the slot before.
#
# Nothing of the NIC depends on them, so it does the same in the same slots.

LBUS_USERS = (HDMA, PIO, RECV, SEND, CPU)  # as `lanai_sim.trace.schema.LBUS_USERS` titles them
PROBES = {
    # The processor: held or running, waiting; the instruction that retired, its access to memory.
    "run": 1, "waits": 1, "retired": 1, "pc": 20, "access": 1, "store": 1, "address": 20, "value": 32,
    # The LBUS: a bit for each of `LBUS_USERS`.
    "used": 5, "waited": 5,
    # The engines: what is posted, what is done.
    "host_post": 1, "host_to_host": 1, "host_local": 20, "host_address": 32, "host_length": 21, "host_done": 1,
    "host_error": 1,
    "send_post": 1, "send_first": 1, "send_last": 1, "send_pointer": 20, "send_length": 21, "send_done": 1,
    "receive_busy": 1, "receive_done": 1, "receive_verdict": VERDICT_BITS, "receive_start": END_BITS,
    "receive_pointer": END_BITS,
    # The optional blocks: a bit for each of `block_signals`.
    "blocks": MOST,
}  # fmt: skip
Probe = data.StructLayout(PROBES)


class ProbedNic(Nic):
    """A NIC whose `probe` shows the present slot."""

    def __init__(self, config: NicConfig) -> None:
        super().__init__(config)
        self.probe = Signal(Probe)

    def elaborate(self, platform):  # type: ignore[no-untyped-def]
        nic: Any = super()
        m = nic.elaborate(platform)
        nic = self  # Amaranth's members are known at run time only
        core, host, send, recv = nic.processor, nic.host_dma, nic.send_dma, nic.receive_dma
        retire = core.retire
        seen = {
            "run": nic.control.run & ~core.trap.valid,
            "waits": nic.events.waiting & core.idle,
            "retired": retire.valid,
            "pc": retire.pc,
            "access": retire.access,
            "store": retire.store,
            "address": retire.address,
            "value": retire.result,
            "used": Cat(nic.lbus.used[master.name] for master in LBUS_USERS),
            "waited": Cat(nic.lbus.waited[master.name] for master in LBUS_USERS),
            "host_post": host.post.valid & host.post.ready,
            "host_to_host": host.post.payload.to_host,
            "host_local": host.post.payload.local,
            "host_address": host.post.payload.host,
            "host_length": host.post.payload.length,
            "host_done": host.done,
            "host_error": host.error,
            "send_post": send.post.valid & send.post.ready,
            "send_first": send.post.payload.first,
            "send_last": send.post.payload.last,
            "send_pointer": send.post.payload.pointer,
            "send_length": send.post.payload.length,
            "send_done": send.done,
            "receive_busy": recv.progress.busy,
            "receive_done": recv.finished,
            "receive_verdict": recv.verdict,
            "receive_start": recv.progress.start,
            "receive_pointer": recv.progress.pointer,
            "blocks": Cat(self._happens(m, one) for _, one in block_signals(nic.config)),
        }
        for name, value in seen.items():
            m.d.comb += getattr(self.probe, name).eq(value)
        return m

    def _happens(self, m: Module, signal: EventBit | Counter) -> Any:
        """High in a slot in which a counter counts, an event happens, or a level begins."""
        nic: Any = self
        if isinstance(signal, Counter):
            return nic.counters.increment(signal)
        now = nic.events.input(signal)
        if not signal.level:
            return now
        before = Signal(name=f"{signal.name.lower()}_before")
        m.d.sync += before.eq(now)
        return now & ~before


class ProbedSteppedNic(SteppedNic):
    """`SteppedNic` with an output `probe_<name>` for each probe: what was so in the slot that this
    clock edge ended."""

    def __init__(self, nic: ProbedNic, *, as_synthesized: bool = False) -> None:
        probes = {f"probe_{name}": Out(width) for name, width in PROBES.items()}
        super().__init__(nic, probes, as_synthesized=as_synthesized)

    def elaborate(self, platform):  # type: ignore[no-untyped-def]
        stepped: Any = super()
        m: Module = stepped.elaborate(platform)
        nic: Any = self.nic
        for name in PROBES:
            m.d.sync += getattr(self, f"probe_{name}").eq(getattr(nic.probe, name))
        return m


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
