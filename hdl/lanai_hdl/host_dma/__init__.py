"""Host DMA: bytes between host memory and SRAM."""

from .aligner import AlignedWord, Aligner
from .cutter import BurstCutter
from .engine import HostDescriptor, HostDma
from .sramside import SramReader, SramWriter

__all__ = ["AlignedWord", "Aligner", "BurstCutter", "HostDescriptor", "HostDma", "SramReader", "SramWriter"]
