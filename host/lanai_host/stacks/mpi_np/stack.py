"""MPI-NP as a messaging system: matching, credit and rendezvous on the NIC (1999)."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanai_firmware.lang import offset_of
from lanai_firmware.programs.mpi_np import plan, sram, state
from lanai_firmware.programs.mpi_np.program import FIRMWARE
from lanai_hdl.config import NicConfig

from ...bus.base import Bus
from ...config import CHOICES, HostConfig
from ...device import Device, Envelope
from ...plain import restored
from ...simulator.client import SimulatorClient
from ..base import Memory, NicStack, Placement
from ..health import examine
from . import spill_memory
from .driver import Attachment, boot, channel_number
from .handover import take_over
from .unexpected import unexpected

if TYPE_CHECKING:
    from lanai_firmware.image import Image


class MpiNpStack(NicStack):
    name = "mpi-np"
    help = "MPI-NP on Myrinet (1999): matching on the NIC's processor"
    attachment = Attachment
    firmware = FIRMWARE
    presets = FIRMWARE.presets
    options_table = "firmware"
    spares_serve_again = True
    host_choices = CHOICES

    def boot(
        self, bus: Bus, image: "Image", options: plan.McpConfig, placement: Placement, node: int
    ) -> Mapping[int, Attachment]:
        here = placement.ranks_on(node)
        routes = {
            (rank, peer): self._channel_route(placement, rank, peer) for rank in here for peer in range(placement.ranks)
        }
        spilled = spill_memory.allocate(bus, options, len(routes))
        attachments = boot(bus, image, options, placement.ranks, here, routes, spilled, placement.max_ranks_per_nic)
        return {attachment.rank: attachment for attachment in attachments}

    def _channel_route(self, placement: Placement, rank: int, peer: int) -> sram.ChannelRoute:
        there = placement.node_of(peer)
        number = channel_number(placement.ranks_on(there).index(peer), placement.ranks, rank)
        return sram.ChannelRoute(placement.route(placement.node_of(rank), there), number)

    def examine(
        self, bus: Bus, attachment: Attachment, place: Callable[[int], str], before_reset: Callable[[], None]
    ) -> str | None:
        return examine(bus, attachment, place, before_reset)

    def unexpected(
        self, memory: Memory, image: "Image", nic: NicConfig, options: plan.McpConfig, placement: Placement, node: int
    ) -> Mapping[int, Sequence[Envelope]]:
        layout = self._layout(image, nic, options, placement, node)
        spill_memory = memory.words([image.address(FIRMWARE.symbol("nic")) + int(offset_of(state.Nic, "spill_memory"))])
        return unexpected(layout, placement.ranks_on(node), memory, spill_memory[0])

    def plans(
        self, image: "Image", nic: NicConfig, options: plan.McpConfig, placement: Placement
    ) -> Sequence[Mapping[str, Any]]:
        nodes = range(placement.nodes)
        return [self._layout(image, nic, options, placement, node).described() for node in nodes]

    def _layout(
        self, image: "Image", nic: NicConfig, options: plan.McpConfig, placement: Placement, node: int
    ) -> sram.Layout:
        """The SRAM of one node's NIC."""
        return _lay_out(
            options,
            len(placement.ranks_on(node)),
            placement.ranks,
            image.free,
            min(nic.sram_size, image.stack_bottom),
            most_ranks=placement.max_ranks_per_nic,
            depths=plan.QueueDepths.built(nic),
        )

    def open(self, client: SimulatorClient, costs: HostConfig) -> Device:
        from ...simulator.rank_bus import RankBus
        from .device import MpiNp

        bus = RankBus(client, costs)

        device = MpiNp(bus, restored(Attachment, client.config["nic"]), costs, lambda *_: bus.examine())
        device.on_nic = bus.unreceived
        device.hands_over = client.start().parent is not None
        if text := client.config.get("handover"):
            take_over(device.endpoint, text)
        return device


_lay_out = lru_cache(sram.lay_out)  # each MPI_Comm_free needs one
STACK = MpiNpStack()
