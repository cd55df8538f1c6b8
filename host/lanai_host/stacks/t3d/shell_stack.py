"""The device on NICs whose remote-memory adapter is the T3D's shell: `--nic t3d_shell`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanai_firmware.programs.put.layout import NODES
from lanai_hdl.barrier.config import BarrierTree

from ...adapter.exposures import pages_of
from ...adapter.opened import OWN_PAGES
from ...adapter.operation import Attachment
from ...bus.base import Bus
from ...config import HostConfig
from ...device import Device
from ...errors import UserError
from ..base import Placement
from ..on_adapter import AdapterStack
from .attachments import ShellAttachment
from .heap import PRESETS, HeapLayout, T3dOptions
from .puts import Presence
from .trace import heap_plan
from .windows import landings

if TYPE_CHECKING:
    from lanai_firmware.vocabulary import Vocabulary
    from lanai_hdl.config import NicConfig


class T3dShellStack(AdapterStack):
    """Puts, gets and swaps are commands to the adapter. No firmware runs."""

    name = "t3d"
    help = "MPICH on the Cray T3D (1996), with the remote-memory adapter as the shell"
    presets = PRESETS
    options_table = "t3d"
    attachment = ShellAttachment
    host_choices = frozenset({"watchdog", "pinned_cache_pages"})

    @property
    def vocabulary(self) -> "Vocabulary":
        from .trace import SHELL_VOCABULARY

        return SHELL_VOCABULARY

    def plans(
        self, image: None, nic: "NicConfig", options: T3dOptions, placement: Placement
    ) -> Sequence[Mapping[str, Any]]:
        return [heap_plan(HeapLayout(placement.ranks, options)) for _ in range(placement.nodes)]

    def check(self, options: T3dOptions, placement: Placement) -> None:
        self.check_one_rank_a_nic(placement, int(NODES))
        if options.adaptive:
            raise UserError(
                "t3d: adaptive=1 is not for NICs with the remote-memory adapter, which keeps the order of puts; take "
                "NICs without it, such as --nic t3e"
            )
        if options.status == "first":
            raise UserError(
                "t3d: status=first is not for NICs with the remote-memory adapter: the host sees a header's first line "
                "before the second has come, so messages that cross are lost; take NICs without it, such as --nic t3d"
            )
        if any(isinstance(block, BarrierTree) for block in placement.nic.blocks):
            raise UserError(
                "t3d: the barrier tree is served by firmware, and none runs beside the remote-memory adapter; leave "
                "one of the two blocks out"
            )
        heap = HeapLayout(placement.ranks, options).size + Presence.room(placement.ranks)
        left = self.adapter(placement).pages - OWN_PAGES - pages_of(0, heap)
        if landings(left) < 1:
            raise UserError(
                f"t3d: the heap of a rank among {placement.ranks} leaves {left} entries of the adapter's page table, "
                "too few for long messages; choose smaller options, such as --option short=512, or more entries "
                "(--nic-option remote.pages=512)"
            )

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int]) -> Device:
        from .device import T3d

        assert isinstance(attachment, ShellAttachment)
        return T3d(bus, attachment, costs)


SHELL = T3dShellStack()
