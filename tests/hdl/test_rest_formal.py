"""Proofs of `idle`: of a block at rest nothing changes, so an engine may leave slots out.

The registers are those of the elaborated block, so none is forgotten. Memories have any contents.
"""

from dataclasses import dataclass

import pytest
from amaranth import Cat, Fragment, Module, Signal, Value
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.hdl._mem import MemoryInstance
from amaranth.lib import wiring

from lanai_hdl.config import NicConfig
from lanai_hdl.control.control import Control
from lanai_hdl.control.events import Events
from lanai_hdl.link.deframer import Deframer
from lanai_hdl.link.receiver import LinkReceiver
from lanai_hdl.link.transmitter import LinkTransmitter
from lanai_hdl.remote.command_cutter import CommandCutter
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packet_buffers import PacketBuffers

SLOTS = 2  # of rest: in the first, registers still take over what came in the slot before
NIC = NicConfig(sram_size=4096)
REMOTE = Remote(pages=2, peers=2, processes=2, payload=16, answers=1, streams=2, stream_bytes=16)


@dataclass(frozen=True)
class Rest:
    """`make()` gives a block. It is asked for nothing while its inputs `asks` are low. `data`: what follows inputs or
    other registers in any slot, since nothing looks at it while the block is at rest."""

    make: object
    asks: tuple
    data: tuple = ()


def parts(fragment, path=""):
    """Each part of an elaborated design, with its path."""
    yield path, fragment
    for number, (part, name, _) in enumerate(fragment.subfragments):
        yield from parts(part, f"{path}{name or number}.")


class RestSpec(wiring.Component):
    def __init__(self, rest):
        self.rest, self.block, self.changes = rest, rest.make(), []
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = Fragment.get(self.block, None)
        members = [(path, member.flow, Value.cast(value)) for path, member, value in self._flat()]
        inputs = {"__".join(map(str, path)): value for path, flow, value in members if flow == wiring.In}
        outputs = {"__".join(map(str, path)): value for path, flow, value in members if flow == wiring.Out}
        m.d.comb += [value.eq(AnySeq(len(value))) for value in inputs.values()]
        rests = [self.block.idle & ~Cat(inputs[name] for name in self.rest.asks).any()]
        for _ in range(SLOTS):
            rests.append(Signal())
            m.d.sync += rests[-1].eq(rests[-2])
        self.rests, self.all, self.seen = rests, Cat(rests).all(), set()
        for path, part in list(parts(block)):
            for at, (inner, name, where) in enumerate(part.subfragments):
                if isinstance(inner, MemoryInstance):
                    part.subfragments[at] = (self._memory(m, f"{path}{name}", inner), name, where)
            for domain, statements in part.statements.items():
                for register in statements._lhs_signals() if domain != "comb" else ():
                    self._stays(m, f"{path}{register.name}", register, Cat(rests[1:]).all())
        for name, value in outputs.items():
            self._stays(m, f"out.{name}", value, self.all)
        assert set(self.rest.data) <= self.seen
        return m

    def _flat(self):
        return self.block.signature.flatten(self.block)

    def _claim(self, m, name, holds):
        self.seen.add(name)
        if name not in self.rest.data:
            m.d.comb += Assert(holds, name)

    def _stays(self, m, name, value, resting):
        before = Signal(len(value))
        m.d.sync += before.eq(value)
        self._claim(m, name, ~resting | (before == value))

    def _memory(self, m, path, memory):
        """In place of a memory: it gives anything, and the same again while nothing is written. Nothing may be."""
        any_ = Fragment()
        for number, port in enumerate(memory._write_ports):
            self._claim(m, f"{path}.write{number}", ~self.rests[0] | ~Cat(port._en).any())
        for number, port in enumerate(memory._read_ports):
            data, before, address = Signal(len(port._data)), Signal(len(port._data)), Signal(len(port._addr))
            if port._domain == "comb":
                m.d.comb += data.eq(AnySeq(len(data)))
                m.d.sync += [before.eq(data), address.eq(port._addr)]
                m.d.comb += Assume(~self.rests[1] | (address != port._addr) | (before == data))
            else:
                with m.If(port._en):
                    m.d.sync += data.eq(AnySeq(len(data)))
                self._stays(m, f"{path}.read{number}", data, self.all)
            any_.add_statements("comb", Value.cast(port._data).eq(data))
        return any_


BLOCKS = {
    "control": Rest(Control, ("write", "blocked")),
    "events": Rest(lambda: Events(NIC.machine), ("raised", "clear")),
    "transmitter": Rest(lambda: LinkTransmitter(NIC), ("i__valid",), ("out.i__ready",)),
    "receiver": Rest(lambda: LinkReceiver(NIC), ("link__kind",), ("data", "fifo.oldest", "out.o__payload")),
    "deframer": Rest(Deframer, ("i__valid",), ("out.o__payload",)),
    "adapter's commands": Rest(
        lambda: CommandCutter(REMOTE),
        ("i__waiting",),
        ("buffer", "out.head__buffer", "out.owner", "out.o__payload"),
    ),
    "adapter's packets": Rest(
        lambda: PacketBuffers(REMOTE),
        ("i__valid", "release"),
        ("buffers.write0", "buffers.read0", "out.word"),  # of a buffer that is free
    ),
}  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("block", BLOCKS)
def test_nothing_changes_in_a_block_at_rest(prove, block):
    prove(RestSpec(BLOCKS[block]), depth=SLOTS + 1)


class IdleTooSoon(CommandCutter):
    """Idle also while a command waits for its turn's end."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.idle.eq(~self.i.waiting)
        return m


@pytest.mark.ci
def test_a_block_that_is_called_idle_too_soon_is_found(prove):
    rest = BLOCKS["adapter's commands"]
    with pytest.raises(AssertionError, match="Temporal induction failed"):
        prove(RestSpec(Rest(lambda: IdleTooSoon(REMOTE), rest.asks, rest.data)), depth=SLOTS + 1)
