"""The fabric `hypercube:D`: a switch at each of 2^D nodes, joined to the nodes whose number differs
in one bit.

Routes change the lowest bit first, so no bit waits for a lower one and nothing can deadlock.
"""

from dataclasses import dataclass

from lanai_host.errors import UserError

from ...engines.base import Cable
from ..fabric import Fabric
from .base import FabricKind

MOST = 3  # dimensions: a route holds four bytes, one for each bit that changes and one for the NIC


@dataclass(frozen=True)
class Hypercube(Fabric):
    """Port 0 of a switch is its NIC's, port 1 + b leads to the node that differs in bit b."""

    def path(self, source: int, dest: int) -> list[int]:
        differing = source ^ dest
        return [*(1 + bit for bit in range(self.ports - 1) if differing >> bit & 1), 0]


class HypercubeKind(FabricKind):
    usage = "hypercube:D"
    help = "2^D nodes, each joined to D others"

    def make(self, argument: str, nics: int) -> Fabric:
        if not argument.isdecimal() or not 1 <= int(argument) <= MOST:
            raise UserError(f"fabric 'hypercube:{argument}' is not understood; write 1 to {MOST} dimensions")
        size = int(argument)
        nodes = 1 << size
        if nics != nodes:
            raise UserError(f"fabric 'hypercube:{argument}' joins {nodes} NICs, not {nics}")
        cables = [Cable(node, 0, nics + node, 0) for node in range(nodes)]
        for node in range(nodes):
            for bit in range(size):
                if not node >> bit & 1:
                    cables.append(Cable(nics + node, 1 + bit, nics + (node | 1 << bit), 1 + bit))
        return Hypercube(f"hypercube:{size}", nics, nodes, 1 + size, tuple(cables))


KIND = HypercubeKind()
