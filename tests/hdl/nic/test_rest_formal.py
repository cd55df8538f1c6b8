"""Proofs of `idle`: of a block at rest nothing changes, so an engine may leave slots out.

The registers are those of the elaborated block, so none is forgotten. Memories have any contents. What the proofs
need to know of a block's states and of its neighbours is in `rest_known.py`.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

import pytest
from amaranth import Cat, Const, Fragment, Module, Signal, Value
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.hdl._mem import MemoryInstance
from amaranth.lib import wiring

from lanai_hdl.barrier.block import BarrierBlock
from lanai_hdl.control.control import Control
from lanai_hdl.control.counters import Counters
from lanai_hdl.control.events import Events
from lanai_hdl.control.register_file import RegisterFile
from lanai_hdl.core.core import Core
from lanai_hdl.host_bus.burst_arbiter import BurstArbiter
from lanai_hdl.host_bus.bus import HostBus
from lanai_hdl.host_dma.engine import HostDma
from lanai_hdl.hub.config import SwitchingHubConfig
from lanai_hdl.hub.switching import SwitchingHub
from lanai_hdl.link.deframer import Deframer
from lanai_hdl.link.packets import PacketDemux, PacketMux
from lanai_hdl.link.receiver import LinkReceiver
from lanai_hdl.link.transmitter import LinkTransmitter
from lanai_hdl.receive_dma.engine import ReceiveDma
from lanai_hdl.remote.aperture import Aperture
from lanai_hdl.remote.cleared_memory import ClearCounter
from lanai_hdl.remote.collect import Collect
from lanai_hdl.remote.command_cutter import CommandCutter
from lanai_hdl.remote.completion import Completion
from lanai_hdl.remote.host_side import HostSide
from lanai_hdl.remote.links import Links
from lanai_hdl.remote.lookup import Lookup
from lanai_hdl.remote.match_stage import MatchStage
from lanai_hdl.remote.packet_buffers import PacketBuffers
from lanai_hdl.remote.sender import PacketSender
from lanai_hdl.remote.sequencer import Sequencer
from lanai_hdl.remote.server import PacketServer
from lanai_hdl.ring.config import RingConfig
from lanai_hdl.ring.ring import Ring
from lanai_hdl.segment.config import SegmentConfig
from lanai_hdl.segment.segment import Segment
from lanai_hdl.send_dma.engine import SendDma
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig

from .rest_known import (
    COLLECTING,
    MATCHING,
    NIC,
    REMOTE,
    Named,
    always,
    of_aperture,
    of_collect,
    of_host_bus,
    of_host_dma,
    of_host_side,
    of_links,
    of_processor,
    of_send_dma,
    of_sender,
    of_sequencer,
    of_server,
    registers,
)

SLOTS = 2  # of rest: in the first, registers still take over what came in the slot before


@dataclass(frozen=True)
class Rest:
    """`make()` gives a block. It is asked for nothing while its inputs `asks` are low. `data`: patterns of what follows
    inputs or other registers in any slot, since nothing looks at it while the block is at rest. `known(m, block,
    named)` gives what its neighbours do (`Assume`) and what holds in each slot, which is proved with the rest."""

    make: object
    asks: tuple
    data: tuple = ()
    known: object = lambda m, block, named: ()


def parts(fragment, path=""):
    """Each part of an elaborated design, with its path."""
    yield path, fragment
    for number, (part, name, _) in enumerate(fragment.subfragments):
        yield from parts(part, f"{path}{name or number}.")


class RestSpec(wiring.Component):
    """A block rests once its memories have been cleared, and while it is `idle` and asked for nothing. From the second
    slot of rest on no register changes, no memory is written, and no output of one bit follows an input: wider ones are
    looked at beside such a one alone. With the same inputs it stays idle."""

    def __init__(self, rest, idle=None):
        self.rest, self.block, self.seen = rest, rest.make(), set()
        self.idle = self.block.idle if idle is None else idle
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = Fragment.get(self.block, None)
        inputs, outputs = self._members(wiring.In), self._members(wiring.Out)
        m.d.comb += [value.eq(AnySeq(len(value))) for value in inputs.values()]
        design = list(parts(block))
        for number, what in enumerate((*self.rest.known(m, self.block, Named(design)), *always(design))):
            m.d.comb += Assert(what, f"known {number}") if isinstance(what, Value) else what
        cleared = [one.ready for _, part in design for one in part.origins or () if isinstance(one, ClearCounter)]
        asked = Cat(inputs[name] for name in self.rest.asks).any()
        rests = [self.idle & ~asked & Cat(cleared).all()]
        for _ in range(SLOTS):
            rests.append(Signal())
            m.d.sync += rests[-1].eq(rests[-2])
        self.rests, self.all = rests, Cat(rests).all()
        for path, part in design:
            for at, (inner, name, where) in enumerate(part.subfragments):
                if isinstance(inner, MemoryInstance):
                    part.subfragments[at] = (self._memory(m, f"{path}{name}", inner), name, where)
            for register in registers(part):
                self._stays(m, f"{path}{register.name}", register, Cat(rests[1:]).all())
        for name, value in outputs.items():
            if len(value) == 1:
                self._stays(m, f"out.{name}", value, self.all)
        given, before = Cat(value for name, value in inputs.items() if name not in self.rest.asks), Signal(256)
        m.d.sync += before.eq(given)
        self._claim(m, "idle", asked | ~rests[1] | (before[: len(given)] != given) | self.idle)
        for name in self.rest.data:
            assert any(fnmatchcase(seen, name) for seen in self.seen), f"{name} is not one of {sorted(self.seen)}"
        return m

    def _members(self, flow):
        flat = self.block.signature.flatten(self.block)
        return {"__".join(map(str, path)): Value.cast(value) for path, member, value in flat if member.flow == flow}

    def _claim(self, m, name, holds):
        self.seen.add(name)
        if not any(fnmatchcase(name, pattern) for pattern in self.rest.data):
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


def unit(make):
    """Return the rest of what joins two NICs. It is asked by flits and STOPs; an idle flit has any data."""
    asks = [f"{wire}__{n}__{what}" for wire, what in (("rx", "kind"), ("tx", "stop")) for n in range(2)]
    return Rest(make, tuple(asks), ("*receiver*.data", "*receiver*.fifo.oldest"))


def matching_server(config, *asks):
    """Return the rest of a server with a match stage."""
    return Rest(
        lambda: PacketServer(config),
        (
            *("full", "ended", "arriving", "changed", "slots__write", *asks),
            *("bus__read__valid", "bus__written", "bus__burst__ready", "bus__write__ready"),
        ),
        (  # what is worked out of the words of a packet, before there is one
            *("parse.before", "parse.arrived", "transport.words", "transport.was_open"),
            *("transport.order.place", "transport.order.$signal", "transport.order.results.read0"),
            *("mover.append.*", "mover.fifo_words.*", "mover.write_data.*"),
            *("mover._returns", "mover._step", "mover._apart"),
            *("stage.match.$signal", "stage.match.*.$signal", "stage.match.*.moves", "stage.match.sated"),
            "stage.kept.storage.read0",
        ),
        of_server,
    )


BLOCKS = {
    "switch": unit(lambda: Switch(SwitchConfig(2, NIC))),
    "switch with a barrier tree": unit(lambda: Switch(SwitchConfig(2, NIC, barrier=0b11))),
    "switching hub": unit(lambda: SwitchingHub(SwitchingHubConfig(2, NIC))),
    "segment": unit(lambda: Segment(SegmentConfig(2, NIC))),
    "ring": unit(lambda: Ring(RingConfig(2, NIC))),
    "barrier": Rest(lambda: BarrierBlock(NIC), ("wire_rx__kind", "wire_tx__stop", "tx__kind", "rx__stop")),
    "processor": Rest(lambda: Core(4096), ("lbus__grant",), ("out.idle",), of_processor),
    "control": Rest(Control, ("write", "blocked")),
    "events": Rest(lambda: Events(NIC.machine), ("raised", "clear")),
    "registers": Rest(
        lambda: RegisterFile(NIC.machine),
        ("cpu__read", "cpu__write", "host__request"),
        ("wdata", "by_host", "$signal", "*.host_names_*"),  # of the access that comes
    ),
    "counters": Rest(
        lambda: Counters(NIC.machine.counters), tuple(f"count_{one.name.lower()}" for one in NIC.machine.counters)
    ),
    "transmitter": Rest(lambda: LinkTransmitter(NIC), ("i__valid",), ("out.i__ready",)),
    "receiver": Rest(lambda: LinkReceiver(NIC), ("link__kind",), ("data", "fifo.oldest")),
    "deframer": Rest(Deframer, ("i__valid",)),
    "packets of two": Rest(lambda: PacketMux(2), ("i_0__valid", "i_1__valid"), ("out.i_?__ready",)),
    "packets for two": Rest(lambda: PacketDemux([(1,)]), ("i__valid",)),
    "bursts of two": Rest(
        lambda: BurstArbiter(2), ("engine_0__burst__valid", "engine_1__burst__valid"), ("out.engine_?__*",)
    ),
    "send DMA": Rest(
        lambda: SendDma(NIC),
        ("post__valid", "lbus__grant"),
        ("piece", "flits.$like"),  # the next piece; the word on the LBUS
        of_send_dma,
    ),
    "receive DMA": Rest(lambda: ReceiveDma(NIC), ("post__valid", "i__valid", "lbus__grant", "completed__pop")),
    "host DMA": Rest(
        lambda: HostDma(NIC),
        ("post__valid", "lbus__grant", "resume"),
        ("run", "out.lbus__write", "reader.held", "reader.words.$like"),  # the next descriptor; the word on the LBUS
        of_host_dma,
    ),
    "host bus": Rest(
        lambda: HostBus(NIC),
        ("pio__valid", "engine__burst__valid", "reset", "mem__rvalid", "lbus__grant", "registers__grant"),
        (
            *("master.burst", "master.writes.oldest", "master.reads.oldest", "out.engine__refused"),  # words that come
            *("target.access", "target.charge"),
        ),
        of_host_bus,
    ),
    "adapter's host side": Rest(
        lambda: HostSide(REMOTE),
        ("window__request", "free", "server_busy", "sender_busy", "head__saves"),
        (
            *("heads.read0", "words.read?", "window__rdata", "out.stores__field", "$signal"),
            *("commands.$signal", "commands.next_head"),  # the command that comes
        ),
        of_host_side,
    ),
    "adapter's commands": Rest(lambda: CommandCutter(REMOTE), ("i__waiting",), ("buffer", "out.owner")),
    "adapter's aperture": Rest(
        lambda: Aperture(REMOTE),
        ("host__store", "host__map", "host__load", "host__begins", "free", "answered"),
        ("maps.read0", "buffers.words.read0"),
        of_aperture,
    ),
    "adapter's requests": Rest(
        lambda: Sequencer(REMOTE),
        ("i__valid", "resolve", "void", "retire", "again", "left", "opens"),
        ("requests.read0", "out.voided", "out.asked_lost", "out.i__ready"),
        of_sequencer,
    ),
    "adapter's sessions": Rest(lambda: Links(REMOTE), ("port__answer", "port__learn", "open"), (), of_links),
    "adapter's sender": Rest(
        lambda: PacketSender(NIC, REMOTE),
        ("replies__valid", "send__valid", "route_write", "bus__read__valid", "bus__burst__ready"),
        ("reply", "link", "routes.read0", "flits.$like", "flits.storage.read0", "out.send__ready"),
        of_sender,
    ),
    "adapter's packets": Rest(
        lambda: PacketBuffers(REMOTE),
        ("i__valid", "release"),
        ("buffers.write0", "buffers.read0"),  # of a buffer that is free
    ),
    "adapter's server": Rest(
        lambda: PacketServer(REMOTE),
        (
            *("full", "ended", "arriving", "changed"),
            *("bus__read__valid", "bus__written", "bus__burst__ready", "bus__write__ready"),
        ),
        (  # what is worked out of the words of a packet, before there is one
            *("parse.before", "parse.arrived", "transport.words", "transport.was_open"),
            *("transport.order.place", "transport.order.$signal", "transport.order.results.read0"),
            *("mover.append.*", "mover.fifo_words.*", "mover.write_data.*"),
            *("mover._returns", "mover._step", "mover._apart"),
        ),
        of_server,
    ),
    "adapter's ends": Rest(lambda: Completion(COLLECTING), ("serve",), ("worst.*read?", "out.failing")),
    "adapter's server that matches": matching_server(MATCHING),
    "adapter's server that collects": matching_server(COLLECTING, "group_ended__valid"),
    "adapter's match stage": Rest(
        lambda: MatchStage(MATCHING),
        ("slots__write", "serve", "looks", "renews"),
        # The next question.
        ("match.$signal", "match.*.$signal", "match.*.moves", "match.sated", "kept.storage.read0"),
    ),
    "adapter's collectives": Rest(
        lambda: Collect(COLLECTING),
        ("host__start", "host__step", "arrives", "loses"),
        (  # of the lane that was looked at last, and of what comes
            *("programs.read?", "cells.read0", "starts.read0", "running.read0", "losses.read0"),
            *("adder.*", "queue_*.oldest", "out.allowed"),
        ),
        of_collect,
    ),
    "adapter's lookup": Rest(
        lambda: Lookup(REMOTE, 2, 4),
        ("port_0__start", "port_1__start", "exposure_write", "page_write", "engine__burst__valid"),
        (
            *("out.engine__*", "out.bus__write__valid", "out.bus__read__ready"),  # the engine's, passed on
            *("check_?.last", "check_?.crosses", "check_?.status", "check_?.$signal", "pages.read?", "ranges.read?"),
            *("walker.$signal", "walker.entry", "walker.table.read0"),  # the next question
        ),
    ),
}  # fmt: skip
ASKED = ("registers", "packets of two", "adapter's packets")  # do nothing but what they are asked for
WITHIN = ("adapter's server", "adapter's server that matches")  # the one that collects has all that they have


@pytest.mark.ci
@pytest.mark.parametrize("block", BLOCKS)
def test_nothing_changes_in_a_block_at_rest(prove, block):
    prove(RestSpec(BLOCKS[block]), depth=SLOTS + 1)


@pytest.mark.ci
@pytest.mark.parametrize(
    "block",
    [pytest.param(name, marks=pytest.mark.by_hand if name in WITHIN else ()) for name in BLOCKS if name not in ASKED],
)
def test_a_block_that_is_always_idle_is_found(prove, block):
    with pytest.raises(AssertionError, match="failed assertion"):
        prove(RestSpec(BLOCKS[block], Const(1)), depth=SLOTS + 1)


@pytest.mark.ci
def test_nothing_changes_in_a_switch_with_multicast_at_rest(prove):
    """For 12 slots from reset, in which a packet passes and the switch rests again. Induction begins in states of which
    nobody knows whether they are reached."""
    rest = unit(lambda: Switch(SwitchConfig(2, NIC, multicast=True)))
    prove(RestSpec(rest), mode="bmc", depth=12)
    with pytest.raises(AssertionError, match="failed assertion"):
        prove(RestSpec(rest, Const(1)), mode="bmc", depth=12)


class IdleTooSoon(CommandCutter):
    """Idle also while a command waits for its turn's end."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.idle.eq(~self.i.waiting)
        return m


@pytest.mark.ci
def test_a_block_that_is_called_idle_too_soon_is_found(prove):
    rest = BLOCKS["adapter's commands"]
    with pytest.raises(AssertionError, match="failed assertion"):
        prove(RestSpec(Rest(lambda: IdleTooSoon(REMOTE), rest.asks, rest.data)), depth=SLOTS + 1)
