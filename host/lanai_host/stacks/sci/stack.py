"""SCI-MPICH as a messaging system: `lanai run --device sci`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...adapter.operation import Attachment
from ...bus.base import Bus
from ...config import HostConfig
from ...device import Device
from ..base import Placement
from ..on_adapter import AdapterStack, with_aperture
from .layout import VOCABULARY, Layout, SciOptions, plan

if TYPE_CHECKING:
    from lanai_hdl.config import NicConfig


class SciStack(AdapterStack):
    name = "sci"
    help = "SCI-MPICH (2002): puts into mapped segments; short, eager and rendezvous protocols"
    presets = {"default": SciOptions}
    options_table = "sci"
    vocabulary = VOCABULARY

    def plans(
        self, image: None, nic: "NicConfig", options: SciOptions, placement: Placement
    ) -> Sequence[Mapping[str, Any]]:
        """Return what traces know of each node, the layout of its segments, and how its ranks reach each other."""
        layout = {**plan(self._layout(options, placement)), "local": options.node == "memory"}
        return [{**one, **layout} for one in super().plans(image, nic, options, placement)]

    def stores(self, options: SciOptions) -> bool:
        return options.stores

    def check(self, options: SciOptions, placement: Placement) -> None:
        super().check(options, placement)
        what = f"the segment of a rank among {placement.ranks} takes"
        self.check_memory(self._layout(options, placement).size, self.adapter(placement), what, "chunk=4096")

    def equip(self, nic: "NicConfig") -> "NicConfig":
        return with_aperture(nic)

    def _layout(self, options: SciOptions, placement: Placement) -> Layout:
        return Layout(placement.ranks, options, self.adapter(placement).stream_bytes)

    def retries(self, options: SciOptions) -> int:
        return options.retries

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int]) -> Device:
        from .device import Sci

        return Sci(bus, attachment, costs)


STACK = SciStack()
