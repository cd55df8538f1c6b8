"""The division of SRAM among tables and pools: the driver's side of `boot` (NP-05). Plain Python, not
firmware.

All memory is shared out before the processor runs. What is left after the fixed tables becomes
receive heap, in equal shares, so that fewer channels have more each; too many channels are refused
rather than given too little.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from lanai_firmware.lang import sizeof
from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.machine import Verdict

from . import rows, state
from .layout import (
    BLOCK,
    CUT_THROUGH,
    HEADER_ROOM,
    LAYOUT_MAGIC,
    LAYOUT_VERSION,
    MOST_ENTRIES,
    PACKET_BODY,
    QUICK,
    ROOM_UNIT,
    SLOTS,
    ChannelPlan,
    EndpointPlan,
    Header,
    Plan,
    Region,
    Request,
)
from .memory.send_buffers import send_buffer_share
from .plan import MOST_CHANNELS, OWN_POOLS, POOL_BLOCKS, SHARED_POOLS, McpConfig, QueueDepths, pools_of, spill_bytes
from .wire.recovery import TICKS

MAX_ENDPOINTS = int(state.MAX_ENDPOINTS)
MAX_BLOCKS = int(state.MAX_BLOCKS)
BAD_CRC, LENGTH_FLAWS = int(Verdict.CRC), int(Verdict.OVERRUN | Verdict.TRUNCATED)
LEAST_HEAP = 4608  # bytes that a channel is sure of (claim s3_1.recv_buffer)


@dataclass(frozen=True)
class EndpointSpec:
    """One rank on the NIC: what the trusted side (the kernel, in the thesis) decides about it."""

    rank: int
    window: int
    window_mask: int
    record_ring: int
    records: int
    page_table: int
    page_entries: int


LANAI41_QUEUES = QueueDepths.built(lanai41())


@dataclass(frozen=True)
class ChannelRoute:
    """One channel: how packets get to its other end."""

    route: int
    peer_channel: int


@dataclass(frozen=True)
class Layout:
    """The places of tables and pools in SRAM.

    Attributes:
        plan: the members of `layout.Plan`.
        regions: each endpoint's area.
        slot_bytes: stride of request slots.
        clear: the tables, (first address, one past the last): zero when the firmware starts.
    """

    plan: dict[str, int]
    regions: tuple[int, ...]
    slot_bytes: int
    clear: tuple[int, int]

    def described(self) -> dict[str, Any]:
        """All that traces must know, as JSON has it."""
        return {"slot_bytes": self.slot_bytes, "regions": list(self.regions), **self.plan}


class Tables:
    """Hands out addresses from `place` on, by name."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.places: dict[str, int] = {}

    def add(self, name: str, size: int, align: int = 32) -> int:
        """The next `size` bytes."""
        self.place = (self.place + align - 1) & -align
        self.places[name] = self.place
        self.place += size
        return self.places[name]


def lay_out(
    config: McpConfig,
    endpoints: int,
    ranks: int,
    heap: int,
    end: int,
    spill_memory: int = 0,
    most_ranks: int = 0,
    depths: QueueDepths = LANAI41_QUEUES,
) -> Layout:
    """Share out the SRAM from `heap` (the end of the image's data) to `end` (where the stack
    begins). Raises UserError.

    Args:
        depths: of the NIC's queues.
        spill_memory: bus address of `spill_bytes` of host memory for each channel, if they share
            pools.
        most_ranks: the largest number of ranks on any NIC. Each end of a channel counts on as much
            room at the other as it has itself (NP-06), so all NICs must reserve the same.
    """
    depths.check()
    channels = endpoints * ranks
    pools = _checked_pools(config, endpoints, ranks)
    slot_bytes = config.inline_bytes + int(sizeof(Request))
    tables = Tables(heap)
    _place_state(tables, config, endpoints, channels, pools)
    clear = (heap, tables.place)
    _place_packets(tables, config, channels)
    region_size = (int(sizeof(Region)) + int(SLOTS) * slot_bytes + 4095) & -4096
    first = tables.add("regions", endpoints * region_size, 4096)
    regions = tuple(first + i * region_size for i in range(endpoints))
    del tables.places["regions"]
    tables.add("block_table", 0, int(BLOCK))
    blocks = _blocks_of_share(config, pools, pools or channels, end - tables.place, end - heap)
    if most_ranks > endpoints:
        other = lay_out(config, most_ranks, ranks, heap, end, spill_memory, 0, depths)
        blocks = min(blocks, other.plan["blocks_per_channel"])
    plan = tables.places | {
        "endpoints": endpoints,
        "channels": channels,
        "ranks": ranks,
        "blocks_per_channel": blocks,
        "slot_bytes": slot_bytes,
        "pools": pools,
        "spill_memory": spill_memory,
        "hdma_queue": depths.hdma,
        "recv_queue": min(depths.recv, config.buffers),
        "ack_blocks": max(1, blocks // 4) if config.ack_slots > 1 else 1,
        **_choices(config),
    }
    return Layout(plan, regions, slot_bytes, clear)


def _checked_pools(config: McpConfig, endpoints: int, ranks: int) -> int:
    """The pools that channels share, 0 if each has its own. A UserError if the NIC has too few
    channels."""
    channels = endpoints * ranks
    if not 1 <= endpoints <= MAX_ENDPOINTS:
        raise UserError(f"{endpoints} ranks on one NIC; it serves 1 to {MAX_ENDPOINTS}")
    pools = pools_of(config, channels)
    most = MOST_CHANNELS if pools else OWN_POOLS
    if not 1 <= channels <= most:
        raise UserError(
            f"{endpoints} ranks on one NIC in a world of {ranks} need {channels} channels; the NIC has {most}: "
            "use more NICs (--ranks-per-node K) or fewer ranks" + ("" if pools else f", or resident={SHARED_POOLS}")
        )
    return pools


def _place_state(tables: Tables, config: McpConfig, endpoints: int, channels: int, pools: int) -> None:
    """Place the tables that are zero when the firmware starts."""
    shares = pools or channels
    tables.add("endpoint_table", endpoints * sizeof(rows.Endpoint))
    tables.add("send_table", endpoints * int(SLOTS) * sizeof(rows.Send))
    tables.add("announced_table", endpoints * int(MOST_ENTRIES) // 8)
    tables.add("channel_table", channels * sizeof(rows.Channel))
    tables.add("channel_plan_table", channels * sizeof(ChannelPlan))
    tables.add("message_table", shares * config.messages * sizeof(rows.Message))
    tables.add("pool_table", pools * sizeof(rows.Pool))
    tables.add("receive_table", endpoints * config.receives * sizeof(rows.Receive))
    tables.add("copy_table", channels * config.any_receives * sizeof(rows.Posted))
    tables.add("buffer_table", config.buffers * sizeof(state.Buffer))
    tables.add("stage_table", config.stages * sizeof(state.Stage))
    window = _window(config)
    tables.add("reliability_table", channels * sizeof(rows.Reliability) if window else 0)
    tables.add("unacked_table", channels * window * sizeof(rows.Unacked))


def _place_packets(tables: Tables, config: McpConfig, channels: int) -> None:
    """Buffers of packets that arrive, and room for the bodies of those that leave."""
    tables.add("buffer_space", config.buffers * (int(PACKET_BODY) + sizeof(Header)))
    stages = config.stages + (config.spare_buffers if _window(config) else 0)
    space = stages * int(HEADER_ROOM + PACKET_BODY)
    tables.add("stage_space", channels * send_buffer_share(config.send_buffer) if config.send_buffer else space)


def _window(config: McpConfig) -> int:
    """Packets of a channel that may be without an acknowledgement; 0 if none is sent again."""
    return config.window if config.recovery else 0


def _blocks_of_share(config: McpConfig, pools: int, shares: int, left: int, sram: int) -> int:
    """Blocks of receive heap for each of `shares` from `left` of `sram` bytes. A UserError if they
    are too few."""
    blocks = min(left // int(BLOCK), MAX_BLOCKS) // shares
    if blocks * int(BLOCK) < LEAST_HEAP:
        raise UserError(
            f"{shares} {'pools' if pools else 'channels'} leave {max(blocks, 0) * int(BLOCK)} bytes of receive "
            f"buffer each in {sram} bytes of SRAM, less than {LEAST_HEAP}: use more NICs, more SRAM, or less of "
            f"inline_bytes, receives, messages, {'send_buffer, ' if config.send_buffer else ''}"
            f"{'resident' if pools else 'or let channels share pools (resident)'}"
        )
    return min(blocks, POOL_BLOCKS) if pools else blocks


def _choices(config: McpConfig) -> dict[str, int]:
    """Members of `layout.Plan` that depend on the configuration alone."""
    window = _window(config)
    return {
        "magic": int(LAYOUT_MAGIC) | int(LAYOUT_VERSION),
        "messages_per_channel": config.messages,
        "receives_per_endpoint": config.receives,
        "any_receives": config.any_receives,
        "buffers": config.buffers,
        "stages": config.stages,
        "eager_limit": config.eager_limit,
        "unpaid_limit": config.unpaid_limit,
        "ack_slots": config.ack_slots,
        "flaws": LENGTH_FLAWS | BAD_CRC if config.crc_check else LENGTH_FLAWS,
        "mark_entries": config.mark_entries,
        "ways": _ways(config),
        "window": window,
        "spare_buffers": config.spare_buffers,
        "tick": config.retry_cycles // TICKS,
        "retries": config.retries,
        "spill_bytes": spill_bytes(config),
    }


def _ways(config: McpConfig) -> int:
    """Return `Plan.ways`. With recovery packets are whole, and take the general path."""
    ways = 0 if config.recovery else int(CUT_THROUGH) * config.cut_through | int(QUICK) * config.quick
    return ways | config.send_buffer // int(ROOM_UNIT) << 16


def words_of(kind: type, values: dict[str, int]) -> bytes:
    """A struct of u32 members as the bytes that the NIC reads."""
    from lanai_firmware.lang.types import layout

    names = layout(kind).fields
    if set(names) != set(values):
        raise ValueError(f"{kind.__name__}: {sorted(set(names) ^ set(values))} are missing or unknown")
    return b"".join(values[name].to_bytes(4, "big") for name in names)


def boot_words(layout: Layout, endpoints: Sequence[EndpointSpec]) -> dict[str, bytes]:
    """Return the bytes of the globals `plan` and `endpoint_plans`, which the driver writes before it
    starts the processor."""
    endpoint_words = [
        words_of(EndpointPlan, {"region": region, **{f.name: getattr(spec, f.name) for f in fields(spec)}})
        for spec, region in zip(endpoints, layout.regions, strict=True)
    ]
    return {"plan": words_of(Plan, layout.plan), "endpoint_plans": b"".join(endpoint_words)}


def channel_words(routes: Sequence[ChannelRoute]) -> bytes:
    """Return the bytes that the driver writes to `Plan.channel_plan_table`."""
    return b"".join(
        words_of(ChannelPlan, {"route": route.route, "peer_channel": route.peer_channel}) for route in routes
    )
