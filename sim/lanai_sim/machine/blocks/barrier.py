"""The barrier tree; the switches then have it too."""

from lanai_hdl.barrier.config import BarrierTree as BLOCK

__all__ = ["BLOCK"]
