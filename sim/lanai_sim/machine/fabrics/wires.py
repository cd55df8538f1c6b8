"""Wires that NICs share: the ringlet, and cables with the frames of Ethernet."""

from dataclasses import dataclass
from typing import ClassVar

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.hub.config import FrameTimes, SwitchingHubConfig
from lanai_hdl.link.format import MOST_PORTS
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import REQUEST_WORDS
from lanai_hdl.ring.config import MOST_PORTS as MOST_NODES
from lanai_hdl.ring.config import RingConfig
from lanai_hdl.segment.config import Backoff, SegmentConfig

from ...engines.base import Cable, Layout
from ..fabric import Fabric
from .base import FabricKind

# The fabric `ring`: one-way links from node to node, as an SCI ringlet (SC-07).


FEWEST_NODES = 4  # a power of two, as all its sizes: engines build a model for each
LONGEST = 2048  # flits of a packet, of NICs without a remote-memory adapter


def longest_packet(nic: NicConfig) -> int:
    """Flits of the longest packet: HEAD, the words before the data, the words that the data touch,
    TAIL."""
    payloads = [block.payload for block in nic.blocks if isinstance(block, Remote)]
    return 1 + REQUEST_WORDS + payloads[0] // 4 + 1 + 1 if payloads else LONGEST


@dataclass(frozen=True)
class Ringlet(Fabric):
    """NIC n is at node n of the one ring, which stands where a switch would. `hold_after` as in
    `RingConfig`."""

    hold_after: int = RingConfig.hold_after

    def layout(self, config: NicConfig) -> Layout:
        ring = RingConfig(self.ports, config, packet=longest_packet(config), hold_after=self.hold_after)
        return Layout(config, self.nics, self.cables, self.switches, ring)


def ringlet(nics: int, nodes: int | None = None, hold_after: int = RingConfig.hold_after) -> Ringlet:
    """A ring for so many NICs. It has `nodes` nodes, or as few as such a ring can have; those
    without a NIC pass packets on."""
    if not 1 <= nics <= MOST_NODES:
        raise UserError(f"fabric 'ring' joins 1 to {MOST_NODES} NICs, not {nics}; take switch")
    nodes = nodes or max(FEWEST_NODES, 1 << (nics - 1).bit_length())
    return Ringlet("ring", nics, 1, nodes, tuple(Cable(n, 0, nics, n) for n in range(nics)), hold_after)


class Ring(FabricKind):
    usage = "ring"
    help = f"one-way links from NIC to NIC, up to {MOST_NODES}, as an SCI ringlet"

    def make(self, argument: str, nics: int) -> Fabric:
        return ringlet(nics)


@dataclass(frozen=True)
class FrameBytes:
    """`FrameTimes` at any rate: in bytes."""

    lead: int = 0
    least: int = 0
    gap: int = 0

    def times(self, slot_khz: int, kbytes: int) -> FrameTimes:
        """In slots, on a wire of so many kB/s."""
        return FrameTimes(*(slots(count, slot_khz, kbytes) for count in (self.lead, self.least, self.gap)))

    def slots(self, size: int, slot_khz: int, kbytes: int) -> int:
        """Return the slots that a packet of `size` bytes takes on a wire of so many kB/s."""
        return slots(max(self.lead + size, self.least) + self.gap, slot_khz, kbytes)


def slots(count: int, slot_khz: int, kbytes: int) -> int:
    """Return the slots that so many bytes take on a wire of so many kB/s."""
    return -(-count * slot_khz // kbytes)


SLOT_TIME, JAM = 64, 8 + 4  # bytes, of IEEE 802.3: the unit of the back-off; the preamble and the jam of a collision

# Bytes of silence for each packet: 96 bit times between frames (12), and what a UDP datagram on
# Ethernet has around its content that our packets have not: preamble (8), Ethernet header (14), IP
# header (20), UDP header (8). The check at the end is the TAIL's.
UDP = FrameBytes(gap=12 + 8 + 14 + 20 + 8)

FEWEST_PORTS = 4  # a power of two, as all its sizes: engines build a model for each


@dataclass(frozen=True)
class Wire(Fabric):
    """NIC n is at port n of the one segment, which stands where a switch would. Its rate is
    `kbytes`, or that of the NICs' links. `frame`: what a packet takes beside its flits. `collides`:
    NICs that want it at the same time do."""

    kbytes: int | None = None
    frame: FrameBytes = UDP
    collides: bool = False
    broadcasts: ClassVar[bool] = True

    def layout(self, config: NicConfig) -> Layout:
        rate = self._rate(config)
        frame = self.frame.times(config.slot_khz, rate)
        segment = SegmentConfig(self.ports, config.but(link_kbytes=rate), frame, backoff=self._backoff(config))
        return Layout(config, self.nics, self.cables, self.switches, segment)

    def passage(self, config: NicConfig, size: int) -> int:
        """Behind a packet of every NIC, for they share the wire, and after the longest back-off."""
        backoff = self._backoff(config)
        return self.nics * self.packet_slots(config, size) + (backoff.longest if backoff else 0)

    def packet_slots(self, config: NicConfig, size: int) -> int:
        return self.frame.slots(size, config.slot_khz, self._rate(config))

    def _rate(self, config: NicConfig) -> int:
        return min(self.kbytes or config.link_kbytes, config.link_kbytes)

    def _backoff(self, config: NicConfig) -> Backoff | None:
        if not self.collides:
            return None
        rate = self._rate(config)
        unit, lost = (slots(count, config.slot_khz, rate) for count in (SLOT_TIME, JAM + self.frame.gap))
        return Backoff(unit, lost)


def segment(
    kind: str, nics: int, kbytes: int | None = None, frame: FrameBytes = UDP, *, collides: bool = False
) -> Wire:
    """The fabric `kind` for so many NICs."""
    if not 1 <= nics <= MOST_PORTS:
        raise UserError(f"fabric {kind!r} joins 1 to {MOST_PORTS} NICs, not {nics}; take switch")
    ports = max(FEWEST_PORTS, 1 << (nics - 1).bit_length())
    return Wire(kind, nics, 1, ports, tuple(Cable(nic, 0, nics, nic) for nic in range(nics)), kbytes, frame, collides)


class Segment(FabricKind):
    usage = "segment"
    help = f"a wire that up to {MOST_PORTS} NICs share; one sends at a time, to any set of the others"

    def make(self, argument: str, nics: int) -> Fabric:
        return segment("segment", nics)


# What MBCF's frames have that our packets have not: preamble (8), Ethernet header (14), the rest of
# MBCF's own header (8), the gap between frames (12). With our packet's 24 bytes beside the data that
# makes 66, as the full-duplex rows of mbcf.t2_2 say. `least` stands for the least frame of Ethernet
# (64, with preamble 72). MBCF's replies cost its half-duplex rows half a least frame a packet, and
# ours come one a packet, so it is fitted: on mbcf.t2_2.writeh.64.
MBCF = FrameBytes(lead=8 + 14 + 8, least=46, gap=12)


class Hub(FabricKind):
    usage = "hub"
    help = "a wire that carries Ethernet frames, half duplex: one NIC sends at a time"

    def make(self, argument: str, nics: int) -> Fabric:
        return segment("hub", nics, frame=MBCF)


class Csma(FabricKind):
    usage = "csma"
    help = "a hub on which NICs that want to send at the same time collide, and back off as on Ethernet (CSMA/CD)"

    def make(self, argument: str, nics: int) -> Fabric:
        return segment("csma", nics, frame=MBCF, collides=True)


KBYTES = 1250  # a second: 10 Mbit/s


class Ethernet(FabricKind):
    usage = "ethernet"
    help = "a segment of 10 Mbit/s"

    def make(self, argument: str, nics: int) -> Fabric:
        return segment("ethernet", nics, KBYTES)


class EthernetCsma(FabricKind):
    usage = "ethernet-csma"
    help = "the same on which NICs that want to send at the same time collide, and back off (CSMA/CD)"

    def make(self, argument: str, nics: int) -> Fabric:
        return segment("ethernet-csma", nics, KBYTES, collides=True)


@dataclass(frozen=True)
class FramedStar(Fabric):
    """NIC n is at port n of the one switching hub. `frame`: what a packet takes beside its flits."""

    frame: FrameBytes = MBCF

    def layout(self, config: NicConfig) -> Layout:
        frame = self.frame.times(config.slot_khz, config.link_kbytes)
        hub = SwitchingHubConfig(self.ports, config, frame=frame)
        return Layout(config, self.nics, self.cables, self.switches, hub)

    def packet_slots(self, config: NicConfig, size: int) -> int:
        return self.frame.slots(size, config.slot_khz, config.link_kbytes)


class SwitchingHub(FabricKind):
    usage = "switching-hub"
    help = f"a switch for up to {MOST_PORTS} NICs whose cables carry Ethernet frames, full duplex"

    def make(self, argument: str, nics: int) -> Fabric:
        if not 1 <= nics <= MOST_PORTS:
            raise UserError(f"fabric 'switching-hub' joins 1 to {MOST_PORTS} NICs, not {nics}; take switch")
        return FramedStar("switching-hub", nics, 1, max(2, nics), tuple(Cable(n, 0, nics, n) for n in range(nics)))


KINDS = {
    "ring": Ring(),
    "segment": Segment(),
    "hub": Hub(),
    "csma": Csma(),
    "ethernet": Ethernet(),
    "ethernet-csma": EthernetCsma(),
    "switching-hub": SwitchingHub(),
}
