"""The parameters of a hub."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..numbers import Scaled
from ..ranges import check_within
from ..switch_config import SwitchConfig

MOST_SLOTS = 2**20


@dataclass(frozen=True)
class FrameTimes(Scaled):
    """Slots that a packet takes on a wire beside its flits.

    Attributes:
        lead: before its HEAD: preamble and headers.
        least: from the beginning of `lead` to its TAIL, at least; a short packet is padded.
        gap: silence after its TAIL.
    """

    lead: int = 0
    least: int = 0
    gap: int = 0

    def greatest(self) -> Mapping[str, int]:
        return dict.fromkeys(("lead", "least", "gap"), MOST_SLOTS)

    def __post_init__(self) -> None:
        for name in self.greatest():
            check_within(self, name, 0, MOST_SLOTS, "a whole number of slots")


@dataclass(frozen=True)
class SwitchingHubConfig(SwitchConfig):
    """A switch whose cables carry frames. `frame`: their times, on the way from a NIC to it."""

    frame: FrameTimes = field(default_factory=FrameTimes)
