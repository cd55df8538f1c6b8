"""The paper's system and stand-ins for the two that it is compared with, all on an Ethernet of
10 Mbit/s.

MPICH and LAM themselves are not built. Their stand-ins are the same daemon with other rules: what
the paper says of them, and no more.
"""

from dataclasses import replace

from lanai_host.config import sparc_sunos
from lanai_host.stacks.ccu.options import CcuOptions, ethernet, lam, mpich

from ....machine.presets import ethernet10

FABRIC = "ethernet"
COLLIDING_FABRIC = "ethernet-csma"
HOST = sparc_sunos()
NIC = ethernet10()
OURS = ethernet()
SYSTEMS: dict[str, CcuOptions] = {"ccu": OURS, "lam": lam(), "mpich": mpich()}
LONG = 98_304  # bytes of a message that is many windows
LONGEST = 1_048_576  # of one that is many time slices
EXPERIMENT_PACKET = 1024  # bytes of a packet where the paper varies its window
PRESENT, AWAY = 45_000, 60_000  # microseconds of its processor for the receiver's daemon, then for others: chosen
SLICES = {"20_20": (20_000, 20_000), "100_60": (100_000, 60_000)}  # others, to see what the choice decides


def unicast() -> CcuOptions:
    """The paper's other version of its broadcast."""
    return replace(OURS, broadcast=0)


def shared(window: int, ack_every: int = 0, slices: tuple[int, int] = (PRESENT, AWAY)) -> CcuOptions:
    """The paper's experiment on the size of the window. No timer acknowledges less than `ack_every`
    packets; 0: than a whole window, as in the paper's implementation, where both numbers are 25.
    The paper does not say what kept the daemon from its packets; here another process has the
    receiver's workstation at times: `slices` says for how long the daemon has it, then the other."""
    present, away = slices
    return replace(
        OURS,
        packet=EXPERIMENT_PACKET,
        window=window,
        ack_every=ack_every or window,
        ack_timer=0,
        present=present,
        away=away,
    )
