"""Counters of the local bus: which master used it."""

from ..csr.declare import Counter, RegisterBlock
from .masters import MASTERS

LBUS = RegisterBlock(
    "Local bus",
    counters=(
        *(counter for master in MASTERS for counter in master.counters),
        Counter(
            "LBUS_FAULTS", 0x28C, "access beyond the SRAM by a processor that does not trap on it, as the Lanai does"
        ),
    ),
)
