"""The paper's system and stand-ins for the two that it is compared with, all on an Ethernet of
10 Mbit/s.

MPICH and LAM themselves are not built. Their stand-ins are the same daemon with other rules: what
the paper says of them, and no more.
"""

from dataclasses import replace

from lanai_host.config import sparc_sunos
from lanai_host.stacks.ccu.options import CcuOptions, ethernet, lam, mpich

FABRIC = "ethernet"
HOST = sparc_sunos()
SYSTEMS: dict[str, CcuOptions] = {"ccu": ethernet(), "lam": lam(), "mpich": mpich()}


def unicast() -> CcuOptions:
    """The paper's other version of its broadcast."""
    return replace(ethernet(), broadcast=0)
