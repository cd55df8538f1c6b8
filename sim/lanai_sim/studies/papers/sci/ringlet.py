"""Table 2 without MPI, on rings of 4 to 8 nodes: all nodes put to a partner at the same time, to the next node
(minimum use: a transfer on each link) or to the one before (maximum use: all transfers but one on
each link). The rings have as many nodes as the longest; those without a NIC pass packets on. So the
last link is longer, and carries no less."""

from lanai_hdl.config import NicConfig

from ....machine.fabrics.ring import ringlet
from ....machine.presets import sci_d330, sci_d330_200
from ...remote_hosts import RemoteHost, play
from ..claims import Figures
from .constants import KIB, MIB

NODES = (4, 5, 6, 7, 8)
FASTER = (6, 7, 8)  # of rings at 200 MHz
BYTES = 64 * KIB  # that each node puts
HOLD_AFTER = 4096  # slots: fairness takes next to nothing of the ring. `--fabric ring`, and so MPI, has fewer
NEXT, BEFORE = 1, -1  # the partner's place


def rates(nic: NicConfig, nodes: int, partner: int) -> list[float]:
    """MiB/s of each node."""

    def program(host: RemoteHost) -> float:
        begin = host.bus.now
        host.remote.put(host.tokens[(host.node + partner) % nodes], 0, host.address, BYTES)
        host.remote.settle()
        return BYTES / ((host.bus.now - begin) / 1e12) / MIB

    found: list[float] = play([program] * nodes, nic, ringlet(nodes, NODES[-1], HOLD_AFTER), size=BYTES)
    return found


def figures() -> Figures:
    """By the number of nodes: MiB/s a node with minimum and maximum use, of the slowest node with
    maximum use, and the sum of all nodes over the ring's nominal bandwidth; maximum use also at
    200 MHz. `clock_ratio`: that of the most nodes at 200 MHz over that at 166 MHz."""
    found: Figures = {}
    nic = sci_d330()
    for nodes in NODES:
        worst = rates(nic, nodes, BEFORE)
        found[f"ring.{nodes}.min_use_mibps"] = mean(rates(nic, nodes, NEXT))
        found[f"ring.{nodes}.max_use_mibps"] = mean(worst)
        found[f"ring.{nodes}.slowest_mibps"] = min(worst)
        found[f"ring.{nodes}.efficiency_percent"] = 100 * sum(worst) * MIB / (1000 * nic.link_kbytes)
    for nodes in FASTER:
        found[f"ring_200.{nodes}.max_use_mibps"] = mean(rates(sci_d330_200(), nodes, BEFORE))
    most = f"{NODES[-1]}.max_use_mibps"
    return found | {"ring.clock_ratio": found[f"ring_200.{most}"] / found[f"ring.{most}"]}


def mean(values: list[float]) -> float:
    return sum(values) / len(values)
