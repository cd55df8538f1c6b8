"""The configuration of a ring."""

from dataclasses import dataclass, field

from ..config import NicConfig, lanai41
from ..numbers import Scaled
from ..ranges import check_power_of_two, check_within

MOST_PORTS = 16
MOST_SENDS = 8


@dataclass(frozen=True)
class RingConfig(Scaled):
    """Parameters of a ring.

    Attributes:
        ports: nodes, a NIC at each.
        nic: its link rate, latency and FIFO depth are those of the cable between a NIC and its
            node. The links of the ring have the same rate.
        packet: most flits of a packet, HEAD and TAIL included. Longer ones are dropped.
        sends: packets of a node that may wait for their echo, a power of two.
        receives: packets that a node can hold for its NIC.
        hold_after: slots that a node waits for its bypass FIFO to empty before it makes the others wait.
        hop: slots at the full rate from one node to the next.
    """

    ports: int = 8
    nic: NicConfig = field(default_factory=lanai41)
    packet: int = 64
    sends: int = 4
    receives: int = 4
    hold_after: int = 256
    hop: int = 4

    def __post_init__(self) -> None:
        limits = {"ports": (2, MOST_PORTS), "packet": (2, 4096)}
        limits |= {"receives": (1, 64), "hold_after": (1, 1 << 16), "hop": (1, 64)}
        for name, (low, high) in limits.items():
            check_within(self, name, low, high)
        check_power_of_two(self, "sends", 1, MOST_SENDS)
