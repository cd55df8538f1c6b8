"""The fabric `pair`: two NICs, point to point."""

from lanai_hdl.errors import UserError

from ...engines.base import Cable
from ..fabric import Fabric
from .base import FabricKind


def pair() -> Fabric:
    return Fabric("pair", 2, 0, 0, (Cable(0, 0, 1, 0),))


class Pair(FabricKind):
    usage = "pair"
    help = "two NICs, point to point"

    def make(self, argument: str, nics: int) -> Fabric:
        if nics != 2:
            raise UserError(f"fabric 'pair' joins 2 NICs, not {nics}; take 'switch'")
        return pair()


KIND = Pair()
