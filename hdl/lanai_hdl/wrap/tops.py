"""The blocks that leave as Verilog, each a top of its own, behind the buses that were asked for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..control.control import SlotCounter
from ..errors import UserError, unknown
from ..host_bus.ports import PIO_ADDRESS_BITS, HostMemoryPort, PioPort
from ..link.flit import Flit, LinkPort
from ..link.receiver import LinkReceiver
from ..link.transmitter import LinkTransmitter
from ..nic import Nic
from ..phy.phy import Phy, RxClockPort
from ..switch.switch import Switch
from .axi import LONGEST, AxiMemory, AxiPio, AxiPort
from .axi_stream import FlitsToStream, FlitStream, LinkToStream, StreamToFlits, StreamToLink
from .wishbone import WishboneMemory, WishbonePio, WishbonePort

ID_BITS = 8  # of AXI4
STREAM = "axi-stream"


@dataclass(frozen=True)
class HostBusWrapper:
    """A bus that the host's side of a NIC can be put behind: the signature that an address of so many bits has,
    prefixes of its two ports, and makers of what drives them."""

    port: Callable[[int], wiring.Signature]
    prefixes: tuple[str, str]
    pio: Callable[[], Any]
    memory: Callable[[], Any]


HOST_BUSES = {
    "axi-lite": HostBusWrapper(AxiPort, ("s_axil", "m_axil"), AxiPio, AxiMemory),
    "axi4": HostBusWrapper(
        lambda bits: AxiPort(bits, ID_BITS),
        ("s_axi", "m_axi"),
        lambda: AxiPio(ID_BITS),
        lambda: AxiMemory(LONGEST, ID_BITS),
    ),
    "wishbone": HostBusWrapper(WishbonePort, ("s_wb", "m_wb"), WishbonePio, WishboneMemory),
}
WRAPPERS = (*HOST_BUSES, STREAM)


def prefixed(prefix, signature, flow):
    """The members of an interface under the names that its standard has: `s_axil_awaddr`."""
    members = signature.members if flow is Out else signature.flip().members
    return {f"{prefix}_{name}": member for name, member in members.items()}


def join(m, top, prefix, port):
    """Connect a port of a part with the members of the top that have the prefix."""
    for name, member in port.signature.members.items():
        outside, inside = getattr(top, f"{prefix}_{name}"), getattr(port, name)
        m.d.comb += inside.eq(outside) if member.flow is In else outside.eq(inside)


class NicTop(wiring.Component):
    """A NIC that numbers its slots itself, so that nobody has to drive `now`.

    Parameters
    ----------
    config : of the NIC
    bus : of `HOST_BUSES`; None for the NIC's own ports
    streams : the link is two AXI4-Streams, `m_axis` out and `s_axis` in

    Members
    -------
    pio, mem : see `PioPort`, `HostMemoryPort`; or the two ports of the bus
    link_tx, link_rx : see `LinkPort`; or `m_axis`, `s_axis`, with `m_axis_carrier` and `s_axis_carrier`
    irq : ``Out(1)``, an interrupt is asked for, a level
    """

    def __init__(self, config, bus=None, streams=False):
        self.nic = Nic(config)
        self.bus = None if bus is None else HOST_BUSES[bus]
        self.parts = () if self.bus is None else (self.bus.pio(), self.bus.memory())
        self.streams = streams
        super().__init__({**self._host_members(), **self._link_members(), "irq": Out(1)})

    def _host_members(self):
        if self.bus is None:
            return {"pio": In(PioPort()), "mem": Out(HostMemoryPort())}
        to_window, to_memory = self.bus.prefixes
        return {
            **prefixed(to_window, self.bus.port(PIO_ADDRESS_BITS), In),
            **prefixed(to_memory, self.bus.port(32), Out),
        }

    def _link_members(self):
        if not self.streams:
            return {"link_tx": Out(LinkPort()), "link_rx": In(LinkPort())}
        return stream_members("m_axis", "s_axis")

    def elaborate(self, platform):
        m = Module()
        m.submodules.nic = nic = self.nic
        m.submodules.slots = slots = SlotCounter()
        m.d.comb += [nic.now.eq(slots.now), self.irq.eq(nic.irq)]
        if self.bus is None:
            wiring.connect(m, wiring.flipped(self.pio), nic.pio)
            wiring.connect(m, wiring.flipped(self.mem), nic.mem)
        else:
            self._wrap_host(m)
        if self.streams:
            wrap_link(m, self, "m_axis", nic.link_tx, "s_axis", nic.link_rx)
        else:
            wiring.connect(m, wiring.flipped(self.link_tx), nic.link_tx)
            wiring.connect(m, wiring.flipped(self.link_rx), nic.link_rx)
        return m

    def _wrap_host(self, m):
        nic, (to_window, to_memory) = self.nic, self.bus.prefixes
        m.submodules.pio, m.submodules.memory = pio, memory = self.parts
        wiring.connect(m, pio.pio, nic.pio)
        wiring.connect(m, nic.mem, memory.mem)
        join(m, self, to_window, pio.bus)
        join(m, self, to_memory, memory.bus)
        if "reset" in memory.signature.members:
            m.d.comb += memory.reset.eq(nic.in_reset)


def stream_members(out, into):
    """The members of a link as two streams with these prefixes."""
    return {
        **prefixed(out, FlitStream(), Out),
        f"{out}_carrier": Out(1),
        **prefixed(into, FlitStream(), In),
        f"{into}_carrier": In(1),
    }


def wrap_link(m, top, out, tx, into, rx):
    """Put a link behind two streams of the top: `tx`, what the block sends, and `rx`, what it receives."""
    m.submodules[out] = sends = LinkToStream()
    m.submodules[into] = receives = StreamToLink()
    wiring.connect(m, tx, sends.link)
    wiring.connect(m, receives.link, rx)
    join(m, top, out, sends.o)
    join(m, top, into, receives.i)
    m.d.comb += [getattr(top, f"{out}_carrier").eq(sends.carrier), receives.carrier.eq(getattr(top, f"{into}_carrier"))]


class SwitchTop(wiring.Component):
    """A switch whose links are AXI4-Streams: `m<n>_axis` out of port n, `s<n>_axis` in, with a carrier each. The
    counters, `idle` and what further inputs the switch has are its own."""

    def __init__(self, config):
        self.switch = Switch(config)
        self._ports = config.ports
        others = {name: one for name, one in self.switch.signature.members.items() if name not in ("rx", "tx")}
        self._others = others
        streams = {}
        for n in range(config.ports):
            streams.update(stream_members(f"m{n}_axis", f"s{n}_axis"))
        super().__init__({**streams, **others})

    def elaborate(self, platform):
        m = Module()
        m.submodules.switch = switch = self.switch
        for n in range(self._ports):
            wrap_link(m, self, f"m{n}_axis", switch.tx[n], f"s{n}_axis", switch.rx[n])
        for name, member in self._others.items():
            outside, inside = getattr(self, name), getattr(switch, name)
            m.d.comb += inside.eq(outside) if member.flow is In else outside.eq(inside)
        return m


class LinkEnd(wiring.Component):
    """One end of a link: flits of packets go in at `i` and come on `tx`; what comes on `rx` leaves at `o`.

    `up`: the far end has a carrier. The CRC of TAIL and CHECK is made here (bit 0 of their data spoils it) and not
    judged here. With `streams`, `i` and `o` are the AXI4-Streams `s_axis` and `m_axis`.
    """

    def __init__(self, config, streams=False):
        self._config = config
        self._streams = streams
        own = {"i": In(stream.Signature(Flit)), "o": Out(stream.Signature(Flit))}
        wrapped = {**prefixed("s_axis", FlitStream(), In), **prefixed("m_axis", FlitStream(), Out)}
        super().__init__({"tx": Out(LinkPort()), "rx": In(LinkPort()), "up": Out(1), **(wrapped if streams else own)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.transmitter = transmitter = LinkTransmitter(self._config)
        m.submodules.receiver = receiver = LinkReceiver(self._config)
        wiring.connect(m, transmitter.link, wiring.flipped(self.tx))
        wiring.connect(m, wiring.flipped(self.rx), receiver.link)
        m.d.comb += [transmitter.up.eq(receiver.up), self.up.eq(receiver.up)]
        if self._streams:
            m.submodules.into = into = StreamToFlits()
            m.submodules.out = out = FlitsToStream()
            wiring.connect(m, into.o, transmitter.i)
            wiring.connect(m, receiver.o, out.i)
            join(m, self, "s_axis", into.i)
            join(m, self, "m_axis", out.o)
        else:
            wiring.connect(m, wiring.flipped(self.i), transmitter.i)
            wiring.connect(m, receiver.o, wiring.flipped(self.o))
        return m


class PhyTop(RxClockPort):
    """A phy whose second clock is a port: `rx_clk` is the clock that comes with `i` from the other side."""

    def __init__(self):
        super().__init__(Phy())
        self.parts = (self.part,)


def chosen(block: str, offered: Iterable[str], wraps: Iterable[str]) -> set[str]:
    """The wrappers of a block, checked. `offered`: those that it has a port for."""
    wraps, offered = list(wraps), list(offered)
    for name in wraps:
        if name not in WRAPPERS:
            raise unknown("wrapper", name, WRAPPERS)
        if name not in offered:
            has = f"it has those for {', '.join(offered)}" if offered else "it has no port for a wrapper"
            raise UserError(f"--wrap {name!r} does not fit {block!r}: {has}")
    buses = sorted({name for name in wraps if name in HOST_BUSES})
    if len(buses) > 1:
        raise UserError(f"--wrap {' and '.join(map(repr, buses))}: a NIC has one host bus; take one of them")
    return set(wraps)
