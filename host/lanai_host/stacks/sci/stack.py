"""SCI-MPICH as a messaging system: `lanai run --device sci`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanai_hdl.remote.config import Remote

from ...adapter.operation import Attachment
from ...bus.base import Bus
from ...config import HostConfig
from ...device import Device
from ..base import Placement
from ..on_adapter import AdapterStack, adapter_in
from .layout import Layout, SciOptions

if TYPE_CHECKING:
    from lanai_firmware.vocabulary import Vocabulary
    from lanai_hdl.config import NicConfig


# An adapter that the machine does not describe. A stream waits for longer than a packet that comes in takes the bus.
ADAPTER = Remote(streams=4, stream_bytes=128, stream_slots=1024)


class SciStack(AdapterStack):
    name = "sci"
    help = "SCI-MPICH (2002): puts into mapped segments; short, eager and rendezvous protocols"
    presets = {"default": SciOptions}
    options_table = "sci"

    @property
    def vocabulary(self) -> "Vocabulary":
        from .layout import VOCABULARY

        return VOCABULARY

    def plans(
        self, image: None, nic: "NicConfig", options: SciOptions, placement: Placement
    ) -> Sequence[Mapping[str, Any]]:
        """Return what traces know of each node, the layout of its segments, and how its ranks reach each other."""
        from .layout import plan

        layout = {**plan(self._layout(options, placement)), "local": options.node == "memory"}
        return [{**one, **layout} for one in super().plans(image, nic, options, placement)]

    def stores(self, options: SciOptions) -> bool:
        return options.stores

    def check(self, options: SciOptions, placement: Placement) -> None:
        super().check(options, placement)
        what = f"the segment of a rank among {placement.ranks} takes"
        self.check_memory(self._layout(options, placement).size, self.adapter(placement), what, "chunk=4096")

    def equip(self, nic: "NicConfig") -> "NicConfig":
        """Give the NIC an adapter, and its adapter an aperture, where there is none."""
        adapter = adapter_in(nic)
        if adapter is None:
            return nic.but(blocks=(*nic.blocks, ADAPTER))
        if adapter.streams:
            return nic
        block = min(ADAPTER.stream_bytes, adapter.payload)
        with_aperture = replace(adapter, streams=ADAPTER.streams, stream_bytes=block, stream_slots=ADAPTER.stream_slots)
        return nic.but(blocks=tuple(with_aperture if one is adapter else one for one in nic.blocks))

    def _layout(self, options: SciOptions, placement: Placement) -> Layout:
        return Layout(placement.ranks, options, self.adapter(placement).stream_bytes)

    def retries(self, options: SciOptions) -> int:
        return options.retries

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int]) -> Device:
        from .device import Sci

        return Sci(bus, attachment, costs)


STACK = SciStack()
