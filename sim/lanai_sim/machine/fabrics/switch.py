"""The fabric `switch`: one switch, or as many as the NICs need."""

from lanai_hdl.errors import UserError

from ...engines.base import Cable
from ..fabric import Fabric
from ..route_word import MOST_PORTS
from .base import FabricKind, switch_ports
from .switches import tree


def star(nics: int) -> Fabric:
    """One switch; NIC n is at its port n."""
    if not 1 <= nics <= MOST_PORTS:
        raise UserError(f"one switch joins 1 to {MOST_PORTS} NICs, not {nics}; write switches:N")
    return Fabric("switch", nics, 1, switch_ports(nics), tuple(Cable(nic, 0, nics, nic) for nic in range(nics)))


class Switch(FabricKind):
    usage = "switch"
    help = f"one switch for up to {MOST_PORTS} NICs, a tree of switches for more: the default"

    def make(self, argument: str, nics: int) -> Fabric:
        if nics <= MOST_PORTS:
            return star(nics)
        each = MOST_PORTS - 1  # one port leads up
        if nics > each * MOST_PORTS:
            raise UserError(
                f"{nics} NICs are too many for a tree of switches, which joins {each * MOST_PORTS}; "
                "put more ranks on a NIC (--ranks-per-node), or write torus:XxYxZ, mesh:XxYxZ or a file with cables"
            )
        return tree(nics, -(-nics // each))


KIND = Switch()
