"""The fabric `csma`: the hub that does not switch, on which NICs collide."""

from ..fabric import Fabric
from .base import FabricKind
from .hub import MBCF
from .segment import segment


class Csma(FabricKind):
    usage = "csma"
    help = "a hub on which NICs that want to send at the same time collide, and back off as on Ethernet (CSMA/CD)"

    def make(self, argument: str, nics: int) -> Fabric:
        return segment("csma", nics, frame=MBCF, collides=True)


KIND = Csma()
