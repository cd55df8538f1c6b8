"""MPI/MBCF as a messaging system: `lanai run --device mbcf`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...adapter.operation import Attachment
from ...bus.base import Bus
from ...config import HostConfig
from ...device import Device
from ...errors import UserError
from ..base import Placement
from ..on_adapter import AdapterStack
from .layout import VOCABULARY, MbcfOptions, QueueLayout

if TYPE_CHECKING:
    from lanai_hdl.config import NicConfig


class MbcfStack(AdapterStack):
    name = "mbcf"
    help = (
        "MPI/MBCF (1999): remote writes to receives that were posted first, FIFOs in the receiver's memory for the rest"
    )
    presets = {"sr": MbcfOptions, "nsr": lambda: MbcfOptions(requests=False)}
    options_table = "mbcf"
    vocabulary = VOCABULARY

    def check(self, options: MbcfOptions, placement: Placement) -> None:
        super().check(options, placement)
        what = f"the queues of a rank among {placement.ranks} take"
        if options.quiet and not self.adapter(placement).quiet:
            raise UserError(
                f"{self.name}: --option quiet={options.quiet} needs adapters that know quiet records: "
                "take --nic-option remote.quiet=1"
            )
        self.check_memory(QueueLayout(placement.ranks, options).size, self.adapter(placement), what, "fifo_pages=1")

    def timeout(self, options: MbcfOptions, nic: "NicConfig") -> int:
        return options.timeout * nic.slot_khz // 1000

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int]) -> Device:
        from .device import Mbcf

        return Mbcf(bus, attachment, costs, members)


STACK = MbcfStack()
