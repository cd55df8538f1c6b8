"""The trusted half of the driver: checks and loads the firmware, decides who gets what, starts the
NIC.

It runs once for each NIC before any rank does, over a `Bus` that reaches the whole PIO window.
Ranks get an `Attachment` each, which says where their own part of the NIC is; `Endpoint` drives
that part.

Host memory: rank number `local_rank` on its NIC owns the bus addresses `window_of(local_rank)` .. +
WINDOW, and its first allocation, of `copyblock_bytes`, begins where the window does: records and
page table (NP-44), whose places the NIC must know before the rank runs. The firmware refuses to
touch host memory for a rank outside its window, so that no request can reach another's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanai_firmware.image import Image
from lanai_firmware.lang import sizeof
from lanai_firmware.programs.mpi_np.codec import unpack
from lanai_firmware.programs.mpi_np.layout import (
    MOST_ENTRIES,
    REQUEST_TAIL,
    SLOTS,
    PageEntry,
    Record,
    Region,
    Request,
)
from lanai_firmware.programs.mpi_np.plan import McpConfig, QueueDepths, pools_of, spill_bytes
from lanai_firmware.programs.mpi_np.program import FIRMWARE
from lanai_firmware.programs.mpi_np.sram import ChannelRoute, EndpointSpec, Layout, boot_words, channel_words, lay_out
from lanai_hdl.machine import SRAM_HOST, host_offset

from ...bus.base import PAGE_SIZE, WINDOW_MASK, Bus, HostBuffer, window_of
from ...errors import UserError
from ..attachment import FirmwareAttachment, PlacedRequest, place_ended
from ..loader import EPOCH, check_machine, load, new_epoch, reset, start

# Host memory in which a NIC's channels leave their messages, if they share pools (docs/design/mpi-np.md).
#
# It belongs to the trusted side: the code that boots the NIC allocates it, on a bus of its own, outside the windows
# of all ranks. So no rank can touch what the firmware will read back from it.


def allocate_spill_memory(bus: Bus, config: McpConfig, channels: int) -> HostBuffer | None:
    """Memory for all channels of one NIC, to be kept as long as it runs. None if each channel has a
    pool of its own."""
    return bus.allocate(channels * spill_bytes(config)) if pools_of(config, channels) else None


def spill_address(spill_memory: HostBuffer | None, config: McpConfig, channels: int) -> int:
    """Return the bus address of the spill memory for the firmware; 0 if the firmware needs none. Raises UserError if
    there is less memory than it will use.
    """
    if not pools_of(config, channels):
        return 0
    needed, there = channels * spill_bytes(config), len(spill_memory.view) if spill_memory is not None else 0
    if spill_memory is None or there < needed:
        raise UserError(
            f"{channels} channels that share {pools_of(config, channels)} pools need {needed} bytes of host memory to "
            f"leave messages in, and have {there}: allocate it by allocate_spill_memory"
        )
    return spill_memory.bus_address


RECORDS = 8192
PAGE_ENTRIES = int(MOST_ENTRIES)  # of four pages: 256 MB of messages on the way, above the thesis's 60 MB (NP-G6)


@dataclass(frozen=True)
class Attachment(FirmwareAttachment):
    """The facts of its NIC that a rank's process needs. They are plain numbers, so that it travels as JSON."""

    ranks: int
    local_rank: int  # its bit of DOORBELL
    region: int  # PIO offset of its Region
    slot_bytes: int
    copyblock: int  # bus address at which its first allocation must lie
    records: int
    page_entries: int
    receives: int
    any_receives: int
    messages: int  # slots of each channel

    @property
    def region_bytes(self) -> int:
        """PIO bytes that are this rank's own, from `region` on: the head and its request slots."""
        return int(sizeof(Region)) + int(SLOTS) * self.slot_bytes

    @property
    def reach(self) -> Sequence[range]:
        """PIO offsets of its region."""
        return (range(self.region, self.region + self.region_bytes),)

    @property
    def doorbell_bits(self) -> int:
        return 1 << self.local_rank

    def request_in(self, offset: int, data: bytes) -> PlacedRequest | None:
        """The request that this write to PIO `offset` completes, if it does: it ends where a
        request slot does."""
        end = offset + len(data) - self.region - int(sizeof(Region))
        slot = place_ended(end, self.slot_bytes, int(SLOTS))
        tail = int(REQUEST_TAIL)
        if slot is None or len(data) < tail:
            return None
        request = unpack(Request, bytes(int(sizeof(Request)) - tail) + data[-tail:])
        command, tag = request["command"], request["tag"]
        return PlacedRequest(
            self.local_rank,
            slot,
            op=command >> 24,
            operation=command & 0xFFFF,
            peer=request["peer"],
            tag=tag - (1 << 32) if tag >> 31 else tag,
            context=request["context"],
            length=request["length"],
        )

    @property
    def page_table_offset(self) -> int:
        """Return where in the copyblock the page table begins."""
        return self.records * int(sizeof(Record))

    @property
    def copyblock_bytes(self) -> int:
        size = self.page_table_offset + self.page_entries * int(sizeof(PageEntry))
        return (size + PAGE_SIZE - 1) // PAGE_SIZE * PAGE_SIZE


def boot(
    bus: Bus,
    image: Image,
    config: McpConfig,
    world: int,
    ranks: Sequence[int],
    routes: Mapping[tuple[int, int], ChannelRoute],
    spill_memory: HostBuffer | None = None,
    most_ranks: int = 0,
) -> list[Attachment]:
    """Start one NIC's MCP.

    Args:
        world: number of ranks in all.
        ranks: those on this NIC, in the order of their local ranks.
        routes: for (rank here, peer rank): the route, and the number that the peer's NIC gives to
            the channel, which is `channel_number(local_rank of the peer, world, rank here)`. A
            rank's channel to itself goes through the switch too.
        spill_memory: what `allocate_spill_memory` gave for this NIC.
        most_ranks: ranks on the NIC that has the most of them, if this one has fewer.

    After a reset all NICs of the world must be booted again, because their channels count what the
    others have received. A process that goes on gives its copyblock to its new `Endpoint`.
    """
    check_machine(bus)
    epoch = new_epoch(bus)
    reset(bus)
    sram_size = bus.read(host_offset("SRAM_SIZE"))
    depths = QueueDepths.of(bus.read(host_offset("QUEUE_DEPTHS")))
    home = spill_address(spill_memory, config, len(ranks) * world)
    layout = lay_out(
        config, len(ranks), world, image.free, min(sram_size, image.stack_bottom), home, most_ranks, depths
    )
    attachments = _attachments(config, layout, world, ranks, routes, epoch)
    ordered = [routes[rank, peer] for rank in ranks for peer in range(world)]
    load(bus, image, layout.clear[1])
    for name, data in boot_words(layout, [_spec(one) for one in attachments]).items():
        bus.write_block(SRAM_HOST + image.address(FIRMWARE.symbol(name)), data)
    bus.write_block(SRAM_HOST + layout.plan["channel_plan_table"], channel_words(ordered))
    bus.write(EPOCH, epoch)
    start(bus, FIRMWARE)
    return attachments


def _attachments(
    config: McpConfig,
    layout: Layout,
    world: int,
    ranks: Sequence[int],
    routes: Mapping[tuple[int, int], ChannelRoute],
    epoch: int,
) -> list[Attachment]:
    """Return the attachment of each rank on the NIC."""
    return [
        Attachment(
            rank=rank,
            ranks=world,
            local_rank=local_rank,
            region=SRAM_HOST + layout.regions[local_rank],
            slot_bytes=layout.slot_bytes,
            copyblock=window_of(local_rank),
            records=RECORDS,
            page_entries=PAGE_ENTRIES,
            receives=config.receives,
            any_receives=config.any_receives,
            messages=config.messages,
            epoch=epoch,
            routes=tuple(routes[rank, peer].route for peer in range(world)),
        )
        for local_rank, rank in enumerate(ranks)
    ]


def _spec(attachment: Attachment) -> EndpointSpec:
    """Return the description of the rank's endpoint for the NIC."""
    return EndpointSpec(
        rank=attachment.rank,
        window=attachment.copyblock,
        window_mask=WINDOW_MASK,
        record_ring=attachment.copyblock,
        records=attachment.records,
        page_table=attachment.copyblock + attachment.page_table_offset,
        page_entries=attachment.page_entries,
    )


def channel_number(local_rank: int, world: int, peer: int) -> int:
    """Return the number of a NIC's channel from its `local_rank`-th rank to rank `peer`."""
    return local_rank * world + peer
