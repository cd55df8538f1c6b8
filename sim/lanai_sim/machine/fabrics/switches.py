"""The fabric `switches:N`: a tree of N switches with NICs and one above."""

from lanai_hdl.errors import UserError

from ...engines.base import Cable
from ..fabric import Fabric
from ..route_word import MOST_PORTS
from .base import FabricKind, switch_ports


def tree(nics: int, leaves: int) -> Fabric:
    """`leaves` switches with the NICs spread over them in order, joined by one switch above (two:
    by a cable)."""
    if not 2 <= leaves <= MOST_PORTS:
        raise UserError(f"switches:{leaves} must be from switches:2 to switches:{MOST_PORTS}")
    each = -(-nics // leaves)
    if each + 1 > MOST_PORTS:
        raise UserError(
            f"{nics} NICs on {leaves} switches need {each + 1} ports a switch; "
            f"take more switches, {MOST_PORTS} ports are there"
        )
    cables = [Cable(nic, 0, nics + nic // each, nic % each) for nic in range(nics)]
    if leaves == 2:
        cables.append(Cable(nics, each, nics + 1, each))
        return Fabric("switches:2", nics, 2, switch_ports(each + 1), tuple(cables))
    root = nics + leaves
    cables += [Cable(nics + leaf, each, root, leaf) for leaf in range(leaves)]
    return Fabric(f"switches:{leaves}", nics, leaves + 1, switch_ports(max(each + 1, leaves)), tuple(cables))


class Switches(FabricKind):
    usage = "switches:N"
    help = "NICs spread over N switches, which one more switch joins"

    def make(self, argument: str, nics: int) -> Fabric:
        if not argument.isdecimal():
            raise UserError(f"fabric 'switches:{argument}' is not understood; write a number, such as switches:2")
        return tree(nics, int(argument))


KIND = Switches()
