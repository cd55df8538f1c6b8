"""The fabric `ring`: one-way links from node to node, as an SCI ringlet (SC-07)."""

from dataclasses import dataclass

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import REQUEST_WORDS
from lanai_hdl.ring.config import MOST_PORTS, RingConfig

from ...engines.base import Cable, Layout
from ..fabric import Fabric
from .base import FabricKind

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
    if not 1 <= nics <= MOST_PORTS:
        raise UserError(f"fabric 'ring' joins 1 to {MOST_PORTS} NICs, not {nics}; take switch")
    nodes = nodes or max(FEWEST_NODES, 1 << (nics - 1).bit_length())
    return Ringlet("ring", nics, 1, nodes, tuple(Cable(n, 0, nics, n) for n in range(nics)), hold_after)


class Ring(FabricKind):
    usage = "ring"
    help = f"one-way links from NIC to NIC, up to {MOST_PORTS}, as an SCI ringlet"

    def make(self, argument: str, nics: int) -> Fabric:
        return ringlet(nics)


KINDS = {"ring": Ring()}
