"""The configuration of an optional block of the NIC: an entry of `NicConfig.blocks`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from .csr.declare import RegisterBlock
from .lbus.masters import Master

if TYPE_CHECKING:
    from .config import NicConfig


class BlockConfig(ABC):
    """What a block's folder offers to `NicConfig.blocks`. A subclass is a frozen dataclass of the block's parameters.

    Attributes:
        name: of the block's submodule in the NIC.
        declares: its registers, events and counters.
        lbus_master: its entry in the LBUS's list, if it is a master; it comes after the engines of every NIC.
    """

    name: ClassVar[str]
    declares: ClassVar[RegisterBlock]
    lbus_master: ClassVar[Master | None] = None

    @abstractmethod
    def build(self, config: NicConfig) -> Any:
        """The block, a `NicBlock`. Gateware is imported here, so that a configuration can be read without it."""

    @property
    def all_declared(self) -> RegisterBlock:
        """`declares`, with the slot counters of `lbus_master`."""
        if self.lbus_master is None:
            return self.declares
        counters = (*self.declares.counters, *self.lbus_master.counters)
        return RegisterBlock(self.declares.title, self.declares.registers, self.declares.events, counters)
