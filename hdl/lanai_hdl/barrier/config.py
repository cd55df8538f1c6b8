"""The barrier block as an entry of `NicConfig.blocks`."""

from dataclasses import dataclass

from ..block_config import BlockConfig
from .csr import BARRIER


@dataclass(frozen=True)
class BarrierTree(BlockConfig):
    """16 bits that a switch with the barrier tree combines with those of all its other NICs.

    A NIC with this block must be plugged into such a switch (`SwitchConfig.barrier`): its control
    flits would disturb packets elsewhere.
    """

    name = "barrier"
    declares = BARRIER

    def build(self, config):
        from .block import BarrierBlock

        return BarrierBlock(config)
