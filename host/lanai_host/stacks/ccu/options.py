"""The options of `ccu`."""

from dataclasses import dataclass, replace

from lanai_firmware.programs.ccu.layout import CONTENT, NUMBERS, SLOTS
from lanai_hdl import ranges
from lanai_hdl.errors import UserError

RANGES = {
    "packet": (64, int(CONTENT)),
    "window": (1, int(NUMBERS) - 1),
    "ack_every": (1, 1000),
    "ack_timer": (0, 10_000_000),
    "timeout": (10, 10_000_000),
    "retries": (1, 1_000_000),
    "resend_all": (0, 1),
    "broadcast": (0, 1),
    "datagram": (0, int(CONTENT) * int(SLOTS)),
    "work": (0, 100_000),
    "system_buffer": (0, 1_000_000),
    "present": (0, 10_000_000),
    "away": (0, 10_000_000),
    "stay": (0, 1),
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
        datagram: bytes that are one datagram, as UDP has them: its packets leave together,
            are acknowledged together, and the next waits for that; `window` then has no part. 0:
            each packet is its own.
        work: what each packet, or datagram, costs the daemon's processor beyond its own
            instructions.
        system_buffer: bytes of packets that wait until the daemon reads them (CC-12). Packets that
            find it full are lost. 0: as many packets as the NIC's receive queue holds.
        present, away: after each `present` microseconds the daemon loses its processor for `away`
            to other processes of its workstation, on nodes with an odd number. away=0: never.
        stay: 1: packets stay in a rank's ring until a receive wants them, so that nothing is copied which
            is received in order (CC-18). 0: each call takes all that have come.
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
    datagram: int = 0
    work: int = 0
    system_buffer: int = 0
    present: int = 0
    away: int = 0
    stay: int = 1
    boot_polls: int = 1000

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
        if 0 < self.system_buffer < self.packet:
            raise UserError(
                f"CcuOptions.system_buffer={self.system_buffer} holds no packet of {self.packet} bytes; "
                "take more, or 0 for no limit of its own"
            )
        if 0 < self.datagram < self.packet or self.datagram > self.packet * int(SLOTS):
            raise UserError(
                f"CcuOptions.datagram={self.datagram} must be 0, or 1 to {int(SLOTS)} packets of {self.packet} bytes"
            )


def ethernet() -> CcuOptions:
    """For an Ethernet of 10 Mbit/s between workstations of 1996.

    `work` is fitted, together with `call` of the host `sparc_sunos`, on the bandwidths of PingPong
    at 8,000 and 16,000 bytes (ccu.s5_3.bw_8000, ccu.s5_3.bw_16000). `timeout` is more than a window
    of 25 packets takes, `ack_timer` a quarter of it; the paper has no values.
    """
    return CcuOptions(
        packet=1300, ack_timer=50_000, timeout=200_000, work=150, system_buffer=32_768, boot_polls=100_000
    )


def lam() -> CcuOptions:
    """A stand-in for LAM of 1994: a daemon that sends a datagram and waits for its acknowledgement,
    and no broadcast (ccu.s1.lam_stop_and_wait). A datagram has up to 8,192 bytes
    (ccu.s5_3.lam_single_message)."""
    return replace(ethernet(), window=1, ack_every=1, broadcast=0, datagram=8192)


def mpich() -> CcuOptions:
    """A stand-in for MPICH of 1994 over TCP: no broadcast (ccu.s1.mpich_tcp), windows of three
    packets, which is a socket buffer of 4 kB, and an acknowledgement for every other packet, as TCP
    has."""
    return replace(ethernet(), window=3, ack_every=2, broadcast=0)


PRESETS = {"default": CcuOptions, "ethernet": ethernet, "lam": lam, "mpich": mpich}
