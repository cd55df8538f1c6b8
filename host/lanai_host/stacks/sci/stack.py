"""SCI-MPICH as a messaging system: `lanai run --device sci`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...adapter.attachment import Attachment
from ...adapter.opened import OWN_PAGES
from ...bus.base import PAGE_SIZE, Bus
from ...config import HostConfig
from ...device import Device
from ...errors import UserError
from ..base import Placement
from ..on_adapter import AdapterStack
from .layout import Layout
from .options import SciOptions

if TYPE_CHECKING:
    from lanai_firmware.programs.vocabulary import Vocabulary
    from lanai_hdl.config import NicConfig


class SciStack(AdapterStack):
    name = "sci"
    help = "SCI-MPICH (2002): puts into mapped segments; short, eager and rendezvous protocols"
    presets = {"default": SciOptions}
    options_table = "sci"

    @property
    def vocabulary(self) -> "Vocabulary":
        from .trace import VOCABULARY

        return VOCABULARY

    def plans(
        self, image: None, nic: "NicConfig", options: SciOptions, placement: Placement
    ) -> Sequence[Mapping[str, Any]]:
        """Return the layout of each node's SRAM for traces, with that of its segments."""
        from .trace import plan

        layout = plan(Layout(placement.ranks, options))
        return [{**one, **layout} for one in super().plans(image, nic, options, placement)]

    def check(self, options: SciOptions, placement: Placement) -> None:
        super().check(options, placement)
        pages = -(-Layout(placement.ranks, options).size // PAGE_SIZE)
        room = self.adapter(placement).pages - OWN_PAGES
        if pages > room:
            raise UserError(
                f"sci: the segment of a rank among {placement.ranks} takes {pages} pages, and the adapter's "
                "page table has "
                f"{room} for it; choose smaller options, such as --option chunk=4096, or fewer ranks"
            )

    def retries(self, options: SciOptions) -> int:
        return options.retries

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int]) -> Device:
        from .device import Sci

        return Sci(bus, attachment, costs)


STACK = SciStack()
