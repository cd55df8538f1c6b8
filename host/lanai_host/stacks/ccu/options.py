"""What a user may choose of `ccu`."""

from dataclasses import dataclass

from lanai_firmware.programs.ccu.layout import CONTENT, NUMBERS
from lanai_hdl import ranges

RANGES = {
    "packet": (64, int(CONTENT)),
    "window": (1, int(NUMBERS) - 1),
    "ack_every": (1, 1000),
    "ack_timer": (0, 10_000_000),
    "timeout": (10, 10_000_000),
    "retries": (1, 1_000_000),
    "resend_all": (0, 1),
    "broadcast": (0, 1),
    "work": (0, 100_000),
    "boot_polls": (1, 1_000_000),
}


@dataclass(frozen=True)
class CcuOptions:
    """Times in microseconds.

    Attributes:
        packet: bytes of a packet that the library cuts messages into (CC-15).
        window: packets of a pair of nodes that may be unacknowledged (CC-12).
        ack_every: a node acknowledges each so many packets of a pair (CC-10).
        ack_timer: it also acknowledges packets so long after it took them. 0: it does not, as in
            the paper (CC-G1).
        timeout: a packet not acknowledged for so long is sent again (CC-G2: the paper names no
            value).
        retries: timeouts of a packet after which its nodes are given up. The paper never gives up.
        resend_all: 1: a packet is sent again to all its nodes; 0: to those that lack it (CC-09: not
            said).
        broadcast: 1: use the broadcast of a fabric that has one (CC-14); 0: a packet for each node.
        work: what each packet costs the daemon's processor beyond its own instructions.
        boot_polls: looks, a microsecond apart, until the daemon must be ready.
    """

    packet: int = int(CONTENT)
    window: int = 25
    ack_every: int = 25
    ack_timer: int = 200
    timeout: int = 2000
    retries: int = 100
    resend_all: int = 0
    broadcast: int = 1
    work: int = 0
    boot_polls: int = 1000

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
