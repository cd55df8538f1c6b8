"""The fabric `hub`: Fast Ethernet as MPI/MBCF had it, on a hub that does not switch."""

from ..fabric import Fabric
from .base import FabricKind
from .segment import FrameBytes, segment

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


KIND = Hub()
