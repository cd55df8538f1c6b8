"""A hardware block that counts what the NIC sends, by size.

The firmware need not know it: it watches the registers of the send DMA.
"""

from .config import Tally as BLOCK

__all__ = ["BLOCK"]
