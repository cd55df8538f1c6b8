"""MPI/MBCF as a messaging system: `lanai run --device mbcf`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...adapter.attachment import Attachment
from ...adapter.opened import OWN_PAGES
from ...bus.base import PAGE_SIZE, Bus
from ...config import HostConfig
from ...device import Device
from ...errors import UserError
from ..base import Placement
from ..on_adapter import AdapterStack
from .layout import MOST_RANKS, QueueLayout
from .options import MbcfOptions

if TYPE_CHECKING:
    from lanai_firmware.programs.vocabulary import Vocabulary
    from lanai_hdl.config import NicConfig


class MbcfStack(AdapterStack):
    name = "mbcf"
    help = (
        "MPI/MBCF (1999): remote writes to receives that were posted first, FIFOs in the receiver's memory for the rest"
    )
    presets = {"sr": MbcfOptions, "nsr": lambda: MbcfOptions(requests=0)}
    options_table = "mbcf"

    @property
    def vocabulary(self) -> "Vocabulary":
        from .trace import VOCABULARY

        return VOCABULARY

    def check(self, options: MbcfOptions, placement: Placement) -> None:
        super().check(options, placement)
        if placement.ranks > MOST_RANKS:
            raise UserError(f"mbcf has room for {MOST_RANKS} ranks, not {placement.ranks}; start fewer")
        adapter = self.adapter(placement)
        pages = QueueLayout(placement.ranks, options).size // PAGE_SIZE
        if pages + OWN_PAGES > adapter.pages:
            raise UserError(
                f"mbcf: the queues of a rank among {placement.ranks} take {pages} pages, and the adapter's page "
                f"table has {adapter.pages - OWN_PAGES} for them; choose smaller ones, such as --option fifo_pages=1, "
                "or fewer ranks"
            )

    def timeout(self, options: MbcfOptions, nic: "NicConfig") -> int:
        return options.timeout * nic.slot_khz // 1000

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int]) -> Device:
        from .device import Mbcf

        return Mbcf(bus, attachment, costs, members)


STACK = MbcfStack()
