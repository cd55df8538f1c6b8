"""The host bus: the NIC as PIO target and as master of host memory, at the cost of a PCI bus."""

from .bus import HostBus
from .master import BusMaster
from .ports import Burst, BurstPort, HostMemoryPort, PioPort, ReadWord, WriteWord
from .target import PioTarget, RegisterAccess

__all__ = [
    "Burst",
    "BurstPort",
    "BusMaster",
    "HostBus",
    "HostMemoryPort",
    "PioPort",
    "PioTarget",
    "ReadWord",
    "RegisterAccess",
    "WriteWord",
]
