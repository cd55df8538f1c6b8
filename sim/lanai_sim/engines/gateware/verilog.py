"""The NIC and what joins NICs as a model has them, and their Verilog as they are synthesized.

As a program (`python -m lanai_sim.engines.gateware.verilog`) it reads pickled calls from standard
input and writes the pickled texts.
"""

import gc
import pickle
import re
import sys
from collections.abc import Mapping
from typing import Any

from amaranth import Cat, ClockDomain, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from lanai_hdl.config import NicConfig
from lanai_hdl.csr.declare import Counter, EventBit
from lanai_hdl.lbus.masters import CPU, HDMA, PIO, RECV, SEND
from lanai_hdl.nic import Nic
from lanai_hdl.receive_dma.engine import END_BITS, VERDICT_BITS
from lanai_hdl.run_time import add_numbers
from lanai_hdl.sram.memory import VERILOG as SRAM
from lanai_hdl.verilog import by_yosys

from ..designs import Design
from .block_signals import MOST, block_signals
from .units import unit

# The NIC and the switch as the engines evaluate them: same slots, same outputs, less work.
#
# A NIC counts its slots itself, its inputs are registered, and its registers begin at their initial values without
# a reset input. A reset would make every next value follow an input.


class SteppedNic(wiring.Component):
    """A NIC whose slots count themselves. `left_out` slots, an even number, are jumped over after
    this one; the NIC's own contract says when that may be (`Nic.idle`). The other members are the
    NIC's, and `more` of a subclass.

    Inputs are those of the slot that the next edge of `clk` begins. The first edge begins slot 0.

    With `as_synthesized` the domain has its reset, inputs act in the present slot, and there is no
    member `clk`: for comparison.
    """

    def __init__(self, nic: Nic, more: Mapping[str, Member] | None = None, *, as_synthesized: bool = False) -> None:
        self.nic = nic
        self.as_synthesized = as_synthesized
        members = {name: member for name, member in nic.signature.members.items() if name != "now"}
        clocks: dict[str, Member] = {} if as_synthesized else {"clk": In(1)}
        super().__init__({**members, "left_out": In(33), **clocks, **(more or {})})

    def elaborate(self, platform):  # type: ignore[no-untyped-def]  # Amaranth's own signature
        m = Module()
        m.submodules.nic = self.nic
        add_numbers(m, platform)
        if self.as_synthesized:
            now, left_out = Signal(33), self.left_out
        else:
            m.domains.sync = resetless(self.clk)
            now, left_out = Signal(33, init=-1), Signal(33)  # the first edge begins slot 0
            m.d.sync += left_out.eq(self.left_out)
        m.d.sync += now.eq(now + left_out + 1)
        m.d.comb += self.nic.now.eq(now)
        for name, member in self.nic.signature.members.items():
            if name != "now":
                join(m, member, getattr(self, name), getattr(self.nic, name), registered=not self.as_synthesized)
        return m


class SteppedSwitch(wiring.Component):
    """A switch, or what takes its place, without a reset input. Its members are the switch's, and `clk`."""

    def __init__(self, switch: wiring.Component) -> None:
        self.switch = switch
        super().__init__({**switch.signature.members, "clk": In(1)})

    def elaborate(self, platform):  # type: ignore[no-untyped-def]
        m = Module()
        m.domains.sync = resetless(self.clk)
        m.submodules.switch = self.switch
        add_numbers(m, platform)
        for name, member in self.switch.signature.members.items():
            join(m, member, getattr(self, name), getattr(self.switch, name), registered=False)
        return m


def resetless(clk: Signal) -> ClockDomain:
    """A clock domain whose registers begin at their initial values."""
    domain = ClockDomain("sync", reset_less=True, local=True)
    domain.clk = clk
    return domain


def join(m: Module, member: Member, outer: object, inner: object, *, registered: bool) -> None:
    """Connect one member of a component to the same of the component inside. `registered`: its
    inputs, through registers."""
    signature = wiring.Signature({"it": member})
    pairs = zip(signature.flatten(_Holder(outer)), signature.flatten(_Holder(inner)), strict=True)
    for (_, flat, outside), (_, _, inside) in pairs:
        if flat.flow == wiring.Out:
            m.d.comb += outside.eq(inside)
        elif registered:
            m.d.sync += inside.eq(outside)
        else:
            m.d.comb += inside.eq(outside)


class _Holder:
    """An object with the one member `it`."""

    def __init__(self, it: object) -> None:
        self.it = it


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
