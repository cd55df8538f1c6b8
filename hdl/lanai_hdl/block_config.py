"""The configuration of an optional block of the NIC: an entry of `NicConfig.blocks`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .csr.declare import RegisterBlock
from .lbus.masters import Master

if TYPE_CHECKING:
    from .config import NicConfig


@dataclass(frozen=True)
class HostWindow:
    """Bytes of the host's PIO window that a block serves itself: `size`, a power of two, from
    `offset`, a multiple of it. With `reads_wait` it may grant a read later than in the slot in which
    that is requested."""

    offset: int
    size: int
    reads_wait: bool = False


class BlockConfig(ABC):
    """A block as its folder offers it to `NicConfig.blocks`. A subclass is a frozen dataclass of the
    block's parameters.

    Attributes:
        name: of the block's submodule in the NIC.
        declares: its registers, events and counters.
        lbus_master: its entry in the LBUS's list, if it is a master; it comes after the engines of
            every NIC.
        takes_numbers: true if the block's gateware takes the numbers of `NicConfig` that only scale
            time from `lanai_hdl.run_time.numbers`, or none of them. Otherwise each value of them
            needs a model of its own.
        first_bytes: of the packets that the block receives. No two blocks of a NIC may have the same.
        taps_link: true if the block stands between the link and the parts that send and receive
            packets. One block of a NIC may.
        host_window: the part of the host's PIO window that the block serves, if any. One block of a
            NIC may have one.
    """

    name: ClassVar[str]
    declares: ClassVar[RegisterBlock]
    lbus_master: ClassVar[Master | None] = None
    takes_numbers: ClassVar[bool] = False
    first_bytes: ClassVar[tuple[int, ...]] = ()
    taps_link: ClassVar[bool] = False

    def check(self, config: NicConfig) -> None:
        """Raise `UserError` if a NIC with the other parameters of `config` cannot have the block."""
        return

    @property
    def host_window(self) -> HostWindow | None:
        return None

    @abstractmethod
    def build(self, config: NicConfig) -> Any:
        """The block, a `NicBlock`. Gateware is imported here, so that a configuration can be read
        without it."""

    @property
    def all_declared(self) -> RegisterBlock:
        """`declares`, with the slot counters of `lbus_master`."""
        if self.lbus_master is None:
            return self.declares
        counters = (*self.declares.counters, *self.lbus_master.counters)
        return RegisterBlock(self.declares.title, self.declares.registers, self.declares.events, counters)
