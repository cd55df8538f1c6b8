"""The fabric `ethernet`: a segment at the rate of 1996, whatever the NICs' links are."""

from ..fabric import Fabric
from .base import FabricKind
from .segment import segment

KBYTES = 1250  # a second: 10 Mbit/s


class Ethernet(FabricKind):
    usage = "ethernet"
    help = "a segment of 10 Mbit/s"

    def make(self, argument: str, nics: int) -> Fabric:
        return segment("ethernet", nics, KBYTES)


KIND = Ethernet()
