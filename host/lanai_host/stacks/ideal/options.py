"""What a message costs where there is no NIC."""

from dataclasses import dataclass

from lanai_hdl import ranges

from ...config import SECOND


@dataclass(frozen=True)
class IdealOptions:
    """Prices of the `ideal` device, in picoseconds."""

    latency: int = 1_000_000  # of a message
    byte_time: int = 0  # of a byte

    def __post_init__(self) -> None:
        ranges.check(self, {"latency": (0, SECOND), "byte_time": (0, SECOND)})
