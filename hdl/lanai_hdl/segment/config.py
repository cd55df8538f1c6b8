"""The parameters of a segment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..config import NicConfig, lanai41
from ..hub.config import MOST_SLOTS, FrameTimes
from ..link.format import MOST_PORTS
from ..numbers import Scaled
from ..ranges import check_within


@dataclass(frozen=True)
class Backoff(Scaled):
    """Times of a wire on which NICs collide, in slots.

    Attributes:
        slot: Ethernet's slot time, the unit of the back-off.
        collision: from when NICs begin together until one may begin again.
    """

    slot: int
    collision: int

    def __post_init__(self) -> None:
        for name in ("slot", "collision"):
            check_within(self, name, 1, MOST_SLOTS, "a whole number of slots")

    def greatest(self) -> Mapping[str, int]:
        return dict.fromkeys(("slot", "collision"), MOST_SLOTS)

    @property
    def longest(self) -> int:
        """Slots of the longest wait of a NIC after a collision."""
        return self.collision + 1023 * self.slot


@dataclass(frozen=True)
class SegmentConfig(Scaled):
    """Parameters of a segment.

    Attributes:
        ports: NICs that it joins.
        nic: its link rate, latency and FIFO depth are the segment's own.
        frame: what a packet takes on the wire beside its flits.
        silent_slots: a talker that pauses for so long in the midst of a packet loses the wire. 0:
            never.
        backoff: NICs that want the wire at the same time collide. None: they take turns.
    """

    ports: int = 8
    nic: NicConfig = field(default_factory=lanai41)
    frame: FrameTimes = field(default_factory=FrameTimes)
    silent_slots: int = 8192
    backoff: Backoff | None = None

    def __post_init__(self) -> None:
        check_within(self, "ports", 2, MOST_PORTS)
        check_within(self, "silent_slots", 0, 2**31)
