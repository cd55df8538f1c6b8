"""Point to point, one switch, and trees of switches."""

from dataclasses import dataclass
from typing import ClassVar

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.link.format import MOST_PORTS
from lanai_hdl.switch_config import SwitchConfig

from ...engines.base import Cable, Layout
from ..fabric import Fabric
from .base import FabricKind, switch_ports


def pair() -> Fabric:
    return Fabric("pair", 2, 0, 0, (Cable(0, 0, 1, 0),))


class Pair(FabricKind):
    usage = "pair"
    help = "two NICs, point to point"

    def make(self, argument: str, nics: int) -> Fabric:
        if nics != 2:
            raise UserError(f"fabric 'pair' joins 2 NICs, not {nics}; take 'switch'")
        return pair()


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


KINDS = {
    "pair": Pair(),
    "switches": Switches(),
    "switch": Switch(),
    "multicast": Multicast(),
}
