"""The barrier block as an entry of `NicConfig.blocks`."""

from dataclasses import dataclass

from ..block_config import BlockConfig
from .csr import BARRIER


@dataclass(frozen=True)
class BarrierTree(BlockConfig):
    """16 bits that a switch, or several, with the barrier tree combine with those of all other NICs.

    A NIC with this block must be plugged into such a switch (`SwitchConfig.barrier`): its control
    flits would disturb packets elsewhere.
    """

    name = "barrier"
    declares = BARRIER
    taps_link = True
    takes_numbers = True

    def build(self, config):
        from .block import BarrierBlock

        return BarrierBlock(config)
