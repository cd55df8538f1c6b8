"""The fabric `multicast`: one switch that copies a packet to any set of its ports."""

from dataclasses import dataclass
from typing import ClassVar

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.switch_config import SwitchConfig

from ...engines.base import Cable, Layout
from ..fabric import Fabric
from ..route_word import MOST_PORTS
from .base import FabricKind, switch_ports


@dataclass(frozen=True)
class MulticastStar(Fabric):
    """NIC n is at port n of the one switch."""

    broadcasts: ClassVar[bool] = True

    def layout(self, config: NicConfig) -> Layout:
        switch = SwitchConfig(self.ports, config, multicast=True)
        return Layout(config, self.nics, self.cables, self.switches, switch)


class Multicast(FabricKind):
    usage = "multicast"
    help = f"one switch for up to {MOST_PORTS} NICs that copies a packet to any set of them"

    def make(self, argument: str, nics: int) -> Fabric:
        if not 1 <= nics <= MOST_PORTS:
            raise UserError(f"fabric 'multicast' joins 1 to {MOST_PORTS} NICs, not {nics}; take switch")
        return MulticastStar("multicast", nics, 1, switch_ports(nics), tuple(Cable(n, 0, nics, n) for n in range(nics)))


KIND = Multicast()
