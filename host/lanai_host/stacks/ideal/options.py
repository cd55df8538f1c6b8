"""The cost of a message where there is no NIC: LogGP with a latency, a byte time, and no gap between messages."""

from dataclasses import dataclass

from lanai_hdl import ranges
from lanai_hdl.config import lanai41

from ...kernel_costs import SECOND

BYTE_TIME = SECOND // (1000 * lanai41().link_kbytes)  # of the link of 1999: what its NIC and driver add is then seen


@dataclass(frozen=True)
class IdealOptions:
    """Prices of the `ideal` device, in picoseconds. A message of n bytes that finds its sender's
    line free arrives latency + n * byte_time after it was sent. The messages of one sender share
    its line; a receiver takes any number at once."""

    latency: int = 1_000_000  # of a message
    byte_time: int = BYTE_TIME  # of a byte on its sender's line; 0: a line of any bandwidth

    def __post_init__(self) -> None:
        ranges.check(self, {"latency": (0, SECOND), "byte_time": (0, SECOND)})


def unlimited() -> IdealOptions:
    """Any number of bytes takes no longer than none."""
    return IdealOptions(byte_time=0)
