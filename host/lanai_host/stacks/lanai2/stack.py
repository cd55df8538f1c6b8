"""The messaging system on a NIC that matches: `lanai run --device lanai2`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.groups import MOST_PAGES as PAGES_WITH_GROUPS
from lanai_hdl.remote.messages import MOST_CELLS
from lanai_hdl.remote.parameters import MOST_PROCESSES

from ...adapter.matching import MOST_POSTED
from ...adapter.operation import Attachment
from ...bus.base import PAGE_SIZE, Bus
from ...config import HostConfig
from ...device import Device
from ...errors import UserError
from ..base import Placement
from ..on_adapter import AdapterStack, adapter_in
from .messages import Lanai2Options

if TYPE_CHECKING:
    from lanai_firmware.vocabulary import Vocabulary
    from lanai_hdl.config import NicConfig

# An adapter that the machine does not describe.
CELLS = 16  # of each rank, if all of its NIC have so many
GROUPS = 8  # of each rank, whose collectives its NIC carries on


class Lanai2Stack(AdapterStack):
    name = "lanai2"
    help = "the NIC that one would build today: the remote-memory adapter matches messages with receives"
    presets = {"default": Lanai2Options}
    options_table = "lanai2"

    @property
    def vocabulary(self) -> "Vocabulary":
        from .messages import VOCABULARY

        return VOCABULARY

    def equip(self, nic: "NicConfig") -> "NicConfig":
        """Give the NIC an adapter, and its adapter cells, where there are none."""
        adapter = adapter_in(nic)
        if adapter is None:
            return nic.but(blocks=(*nic.blocks, _matching(Remote(processes=1))))
        if adapter.match_cells:
            return nic
        return nic.but(blocks=tuple(_matching(adapter) if one is adapter else one for one in nic.blocks))

    def sized(self, nic: "NicConfig", nodes: int, ranks: int) -> "NicConfig":
        if adapter_in(nic) is None:
            processes = min(MOST_PROCESSES, 1 << (ranks - 1).bit_length())
            nic = nic.but(blocks=(*nic.blocks, _matching(Remote(processes=processes))))
        return super().sized(nic, nodes, ranks)

    def check(self, options: Lanai2Options, placement: Placement) -> None:
        super().check(options, placement)
        adapter = self.adapter(placement)
        cells = adapter.match_cells // adapter.processes
        if cells > MOST_POSTED:
            raise UserError(
                f"{self.name}: match_cells={adapter.match_cells} of {adapter.processes} processes are {cells} for a "
                f"rank, whose asks have room for {MOST_POSTED}: take fewer (--nic-option remote.match_cells=N)"
            )
        size = 2 * options.fifo_pages * PAGE_SIZE
        self.check_memory(size, adapter, "the FIFO of a rank takes", "fifo_pages=4")

    def timeout(self, options: Lanai2Options, nic: "NicConfig") -> int:
        return options.timeout * nic.slot_khz // 1000

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int]) -> Device:
        from .device import Lanai2

        return Lanai2(bus, attachment, costs)


def _matching(adapter: Remote) -> Remote:
    groups = GROUPS if adapter.pages <= PAGES_WITH_GROUPS else 0
    return replace(adapter, match_cells=min(MOST_CELLS, CELLS * adapter.processes), groups=groups)


STACK = Lanai2Stack()
