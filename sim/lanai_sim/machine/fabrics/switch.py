"""The fabric `switch`: one switch, or as many as the NICs need."""

from lanai_hdl.errors import UserError

from ...engines.base import Cable
from ..fabric import Fabric
from ..route_word import MOST_PORTS
from .base import FabricKind
from .switches import tree


def star(nics: int) -> Fabric:
    """One switch; NIC n is at its port n."""
    if not 1 <= nics <= MOST_PORTS:
        raise UserError(f"one switch joins 1 to {MOST_PORTS} NICs, not {nics}; write switches:N")
    return Fabric("switch", nics, 1, max(2, nics), tuple(Cable(nic, 0, nics, nic) for nic in range(nics)))


class Switch(FabricKind):
    usage = "switch"
    help = f"one switch for up to {MOST_PORTS} NICs, a tree of switches for more: the default"

    def make(self, argument: str, nics: int) -> Fabric:
        return star(nics) if nics <= MOST_PORTS else tree(nics, -(-nics // (MOST_PORTS - 1)))


KIND = Switch()
