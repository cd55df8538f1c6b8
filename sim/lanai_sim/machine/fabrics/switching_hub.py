"""The fabric `switching-hub`: a switch whose cables carry Ethernet frames, full duplex."""

from dataclasses import dataclass

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.hub.config import SwitchingHubConfig

from ...engines.base import Cable, Layout
from ..fabric import Fabric
from ..route_word import MOST_PORTS
from .base import FabricKind
from .hub import MBCF
from .segment import FrameBytes


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


KIND = SwitchingHub()
