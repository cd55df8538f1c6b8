"""MPI-NP as a messaging system: matching, credit and rendezvous on the NIC (1999)."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.mpi_np import plan, sram, state
from lanai_firmware.programs.mpi_np.codec import unpack
from lanai_firmware.programs.mpi_np.program import FIRMWARE
from lanai_firmware.programs.mpi_np.rows import Channel, Message, Pool
from lanai_firmware.programs.mpi_np.sram import Layout
from lanai_hdl.config import NicConfig, lanai41

from ...bus.base import Bus
from ...config import CHOICES, HostConfig
from ...device import Device, Envelope
from ...errors import UserError
from ...simulator.client import SimulatorClient
from ..base import Memory, NicStack, Placement
from .device import MpiNp, take_over
from .driver import Attachment, allocate_spill_memory, boot, channel_number

if TYPE_CHECKING:
    from lanai_firmware.image import Image


# Messages that a NIC keeps and no receive has taken, read from its memory: for MPI_Comm_free, and for the report of a
# run that has ended.
#
# The firmware is not asked: it may have stopped. A channel that shares its pool may have left its messages in host
# memory (`spill_memory`), where each lies at the same place in the table as on the NIC.


CHANNEL = int(sizeof(Channel))
MESSAGE = int(sizeof(Message))
WAITING, POOL, EVICTED, EVICTED_UNCLAIMED = (
    int(offset_of(Channel, name)) for name in ("waiting", "pool", "evicted", "evicted_unclaimed")
)
UNCLAIMED = int(offset_of(Channel, "unclaimed"))
NEXT = int(offset_of(Message, "next"))
POOL_NUMBER = int(offset_of(Pool, "number"))


def unexpected(layout: Layout, here: Sequence[int], memory: Memory, spill_memory: int) -> Mapping[int, list[Envelope]]:
    """By rank of those `here`: its messages, by source and in order of arrival.

    Args:
        layout: of this NIC's SRAM.
        here: ranks on it, in the order of their endpoints.
        spill_memory: bus address of what channels left in host memory.
    """
    plan = layout.plan
    world = plan["ranks"]
    channels = range(len(here) * world)
    waiting = memory.words([plan["channel_table"] + number * CHANNEL + WAITING for number in channels])
    found: dict[int, list[Envelope]] = {rank: [] for rank in here}
    for number, count in zip(channels, waiting, strict=False):
        if count:
            rank, source = here[number // world], number % world
            found[rank] += _Lists(layout, memory, spill_memory).messages(number, source, count)
    return found


class _Lists:
    def __init__(self, layout: Layout, memory: Memory, spill_memory: int) -> None:
        self._plan, self._memory, self._spill_memory = layout.plan, memory, spill_memory

    def messages(self, number: int, source: int, count: int) -> list[Envelope]:
        """Return the envelopes of the messages in one channel.

        The processor may have been stopped amid a change. The list ends at the first impossible entry.
        """
        plan = self._plan
        channel = plan["channel_table"] + number * CHANNEL
        first, pool, evicted, evicted_first = self._words(
            [channel + UNCLAIMED + NEXT, channel + POOL, channel + EVICTED, channel + EVICTED_UNCLAIMED]
        )
        share = self._words([pool + POOL_NUMBER])[0] if pool else number
        slots = plan["messages_per_channel"]
        table = plan["message_table"] + share * slots * MESSAGE
        place = evicted_first if evicted else first
        found = []
        for _ in range(min(count, slots)):
            index, rest = divmod(place - table, MESSAGE)
            if rest or not 0 <= index < slots:
                break
            message = unpack(Message, self._message(number, index, place, bool(evicted)))
            found.append(Envelope(source, message["tag"], message["key"] >> 16, message["length"]))
            place = message["next"]
        return found

    def _message(self, number: int, index: int, place: int, evicted: bool) -> bytes:
        if evicted:
            return self._memory.host(self._spill_memory + number * self._plan["spill_bytes"] + index * MESSAGE, MESSAGE)
        words = self._words([place + offset for offset in range(0, MESSAGE, 4)])
        return b"".join(word.to_bytes(4, "big") for word in words)

    def _words(self, addresses: Sequence[int]) -> Sequence[int]:
        return self._memory.words(addresses)


class MpiNpStack(NicStack):
    name = "mpi-np"
    help = "MPI-NP on Myrinet (1999): matching on the NIC's processor"
    attachment = Attachment
    firmware = FIRMWARE
    presets = FIRMWARE.presets
    options_table = "firmware"
    spares_serve_again = True
    host_choices = CHOICES

    def fitting(self, placement: Placement) -> plan.McpConfig:
        """The default options, or the preset `small` where the NICs have less memory than usual, and too little for
        them."""
        usual = plan.McpConfig()
        if placement.nic.sram_size < lanai41().sram_size:
            try:
                self._check(usual, placement)
            except UserError:
                return plan.small()
        return usual

    def check(self, options: plan.McpConfig, placement: Placement) -> None:
        try:
            self._check(options, placement)
        except UserError as error:
            try:
                self._check(plan.small(), placement)
            except UserError:
                raise error from None
            raise UserError(f"{error}; or take --firmware preset=small, which fits") from error

    def _check(self, options: plan.McpConfig, placement: Placement) -> None:
        image = FIRMWARE.image(placement.nic, options)
        self._layout(image, placement.nic, options, placement, 0)

    def boot(
        self, bus: Bus, image: "Image", options: plan.McpConfig, placement: Placement, node: int
    ) -> Mapping[int, Attachment]:
        here = placement.ranks_on(node)
        routes = {
            (rank, peer): self._channel_route(placement, rank, peer) for rank in here for peer in range(placement.ranks)
        }
        spilled = allocate_spill_memory(bus, options, len(routes))
        attachments = boot(bus, image, options, placement.ranks, here, routes, spilled, placement.max_ranks_per_nic)
        return {attachment.rank: attachment for attachment in attachments}

    def _channel_route(self, placement: Placement, rank: int, peer: int) -> sram.ChannelRoute:
        there = placement.node_of(peer)
        number = channel_number(placement.ranks_on(there).index(peer), placement.ranks, rank)
        return sram.ChannelRoute(placement.route(placement.node_of(rank), there), number)

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

    def device(self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int]) -> MpiNp:
        return MpiNp(bus, attachment, costs)

    def open(self, client: SimulatorClient, costs: HostConfig) -> Device:
        device = super().open(client, costs)
        assert isinstance(device, MpiNp)
        device.hands_over = client.start().parent is not None
        if text := client.config.get("handover"):
            take_over(device.endpoint, text)
        return device


_lay_out = lru_cache(sram.lay_out)  # each MPI_Comm_free needs one
STACK = MpiNpStack()
