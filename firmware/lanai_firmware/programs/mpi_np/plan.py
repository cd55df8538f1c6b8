"""Who gets which SRAM: the driver's side of `boot` (NP-05). Plain Python, not firmware.

All memory is shared out before the processor runs. What is left after the fixed tables becomes
receive heap, in equal shares, so that fewer channels have more each; too many channels are refused
rather than given too little.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from lanai_firmware.errors import UserError
from lanai_firmware.lang import sizeof
from lanai_hdl import ranges
from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.machine import Verdict

from . import state
from .layout import (
    BLOCK,
    HEADER_ROOM,
    LAYOUT_MAGIC,
    LAYOUT_VERSION,
    PACKET_BODY,
    SLOTS,
    ChannelPlan,
    EndpointPlan,
    Header,
    Plan,
    Region,
    Request,
)
from .wire.recovery import TICKS

MAX_ENDPOINTS = int(state.MAX_ENDPOINTS)
MAX_CHANNELS = 64  # the thesis's ceiling: each with a pool of its own
MOST_CHANNELS = 1024  # that share pools; how many fit depends on SRAM
POOL_BLOCKS = 72  # most heap blocks of a shared pool: each eviction may copy them all
MAX_BLOCKS = int(state.MAX_BLOCKS)
BAD_CRC, LENGTH_FLAWS = int(Verdict.CRC), int(Verdict.OVERRUN | Verdict.TRUNCATED)
LEAST_HDMA = 3  # descriptors that must be free before a packet is dealt with (`incoming`)
LEAST_SEND = 2  # ... before one is sent: header and body (`outgoing.can_send`)
LEAST_HEAP = 4608  # bytes that a channel is sure of (claim s3_1.recv_buffer)


RANGES = {  # beside which there are the conditions of `McpConfig.__post_init__`
    "messages": (0, 4096),
    "receives": (0, 4096),
    "any_receives": (0, 4096),
    "inline_bytes": (0, int(PACKET_BODY)),
    "buffers": (0, 64),
    "stages": (0, 64),
    "eager_limit": (0, int(PACKET_BODY)),
    "unpaid_limit": (0, int(PACKET_BODY)),
    "ack_slots": (0, 1024),
    "crc_check": (0, 1),
    "recovery": (0, 1),
    "window": (0, 64),
    "spare_buffers": (0, 1024),
    "retry_cycles": (0, 2**26),
    "retries": (0, 1000),
    "cut_through": (0, 1),
    "resident": (0, MOST_CHANNELS),
    "mark_entries": (0, 1),
}


@dataclass(frozen=True)
class McpConfig:
    """How the firmware shares its memory and which of its protocols it uses. `paper()` follows the
    thesis."""

    messages: int = 32  # message slots a channel
    receives: int = 64  # receives an endpoint may have posted; the driver keeps the others
    any_receives: int = 8
    inline_bytes: int = 1024  # longest body that a request slot holds
    buffers: int = 8
    stages: int = 8
    eager_limit: int = 4096
    unpaid_limit: int = 0
    ack_slots: int = 8
    crc_check: int = 1  # 0: a packet whose CRC is wrong is taken as it is, as the thesis does (NP-30)
    recovery: int = (
        0  # 1: packets that are lost, damaged, doubled or out of order are sent again (docs/design/np-recovery.md)
    )
    window: int = 8  # packets of a channel that may be under way unacknowledged, with recovery
    spare_buffers: int = (
        16  # room for as many long bodies that wait for their acknowledgement, of all channels, with recovery
    )
    retry_cycles: int = 65536  # processor cycles to the first repetition; each one doubles it, up to sixteen times
    retries: int = 8  # repetitions without an answer after which a peer is lost
    cut_through: int = 1  # 0: packets are whole on each NIC before they go on (NP-51). With recovery they always are
    # pools for messages that all channels share in turn (docs/design/np-channel-swap.md); 0: one
    # for each channel
    resident: int = 0
    mark_entries: int = 0  # 1: each page entry is marked in host memory when it has been used (NP-46)

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
        for name in ("crc_check", "cut_through", "mark_entries", "recovery"):
            if getattr(self, name) > 1:
                raise UserError(f"McpConfig.{name}={getattr(self, name)} must be 0 (off) or 1 (on)")
        for name in ("buffers", "stages"):
            value = getattr(self, name)
            if value < 4 or value & (value - 1):
                raise UserError(f"McpConfig.{name}={value} must be a power of two of at least 4")
        if not 2 <= self.window <= 64 or self.window & (self.window - 1):
            raise UserError(f"McpConfig.window={self.window} must be a power of two from 2 to 64")
        if self.recovery and not self.crc_check:
            raise UserError("McpConfig.recovery=1 needs crc_check=1: a damaged packet that is taken is not sent again")
        if self.retry_cycles < 4096:
            raise UserError(f"McpConfig.retry_cycles={self.retry_cycles} is less than a round trip; take at least 4096")
        if self.eager_limit > PACKET_BODY:
            raise UserError(f"McpConfig.eager_limit={self.eager_limit} is more than a packet holds ({PACKET_BODY})")
        if self.inline_bytes > PACKET_BODY or self.inline_bytes % 16:
            raise UserError(
                f"McpConfig.inline_bytes={self.inline_bytes} must be a multiple of 16, at most {PACKET_BODY}"
            )
        if self.messages < 4:
            raise UserError(f"McpConfig.messages={self.messages} leaves no look-ahead; take at least 4")
        if not 1 <= self.ack_slots <= self.messages // 4:
            raise UserError(
                f"McpConfig.ack_slots={self.ack_slots} must be from 1 to a quarter of messages={self.messages}, "
                "or a sender could wait for credit that is never told"
            )

    def but(self, **changes: Any) -> Self:
        """The same with some choices changed."""
        known = [field.name for field in fields(self)]
        for name in changes:
            if name not in known:
                raise UserError(f"McpConfig has no parameter {name!r}; it has {', '.join(sorted(known))}")
        return replace(self, **changes)


def pools_of(config: McpConfig, channels: int) -> int:
    """Pools that channels share in turn; 0 if each has its own."""
    return config.resident if config.resident < channels else 0


def spill_bytes(config: McpConfig) -> int:
    """Host memory that one channel needs for its messages while it is evicted."""
    return config.messages * int(sizeof(state.Message)) + POOL_BLOCKS * (4 + int(BLOCK))


def paper() -> McpConfig:
    """The thesis's choices: every message acknowledged (NP-16), small ones sent without credit
    (NP-24), no error check (NP-30)."""
    return McpConfig(ack_slots=1, unpaid_limit=129, crc_check=0)


@dataclass(frozen=True)
class QueueDepths:
    """Entries of the NIC's queues, as its register QUEUE_DEPTHS tells them."""

    hdma: int
    send: int
    recv: int

    @classmethod
    def of(cls, word: int) -> Self:
        """What QUEUE_DEPTHS reads: a byte each from the top."""
        hdma, send, recv, _ = word.to_bytes(4, "big")
        return cls(hdma, send, recv)

    @classmethod
    def built(cls, config: NicConfig) -> Self:
        return cls(config.hdma_queue, config.send_queue, config.recv_queue)

    def check(self) -> None:
        """Raises UserError if the firmware cannot run on such queues.

        It waits for room for the most that one packet or one envelope needs, and it reuses the
        memory of a record or header once as many others have been queued as fit into a ring of
        RECORDS or FRAMES, beside the one that is running and the one that is being written.
        """
        for name, depth, least, ring in (
            ("hdma_queue", self.hdma, LEAST_HDMA, int(state.RECORDS)),
            ("send_queue", self.send, LEAST_SEND, int(state.FRAMES)),
        ):
            if not least <= depth <= ring - 2:
                raise UserError(
                    f"the NIC has {name}={depth}, but this firmware needs {least} to {ring - 2}: build the NIC "
                    "with that"
                )
        if self.recv < 1:
            raise UserError(f"the NIC has recv_queue={self.recv}, but this firmware needs at least 1")


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
    """Where things lie.

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
    if not 1 <= endpoints <= MAX_ENDPOINTS:
        raise UserError(f"{endpoints} ranks on one NIC; it serves 1 to {MAX_ENDPOINTS}")
    pools = pools_of(config, channels)
    most = MOST_CHANNELS if pools else MAX_CHANNELS
    if not 1 <= channels <= most:
        raise UserError(
            f"{endpoints} ranks on one NIC in a world of {ranks} need {channels} channels; the NIC has {most}: "
            "use more NICs or fewer ranks"
            + ("" if pools else f", or let them share pools: resident={MAX_CHANNELS // 2}")
        )
    shares = pools or channels
    slot_bytes = config.inline_bytes + int(sizeof(Request))
    place = heap
    plan: dict[str, int] = {}

    def table(name: str, size: int, align: int = 32) -> None:
        nonlocal place
        place = (place + align - 1) & -align
        plan[name] = place
        place += size

    table("endpoint_table", endpoints * sizeof(state.Endpoint))
    table("send_table", endpoints * int(SLOTS) * sizeof(state.Send))
    table("channel_table", channels * sizeof(state.Channel))
    table("channel_plan_table", channels * sizeof(ChannelPlan))
    table("message_table", shares * config.messages * sizeof(state.Message))
    table("pool_table", pools * sizeof(state.Pool))
    table("receive_table", endpoints * config.receives * sizeof(state.Receive))
    table("copy_table", channels * config.any_receives * sizeof(state.Posted))
    table("buffer_table", config.buffers * sizeof(state.Buffer))
    table("stage_table", config.stages * sizeof(state.Stage))
    window = config.window if config.recovery else 0
    table("reliability_table", channels * sizeof(state.Reliability) if window else 0)
    table("unacked_table", channels * window * sizeof(state.Unacked))
    clear = (heap, place)
    table("buffer_space", config.buffers * (int(PACKET_BODY) + sizeof(Header)))
    places = config.stages + (config.spare_buffers if window else 0)
    table("stage_space", places * int(HEADER_ROOM + PACKET_BODY))
    region_size = (int(sizeof(Region)) + int(SLOTS) * slot_bytes + 4095) & -4096
    table("regions", endpoints * region_size, 4096)
    regions = tuple(plan["regions"] + i * region_size for i in range(endpoints))
    del plan["regions"]
    table("block_table", 0, int(BLOCK))
    blocks = min((end - place) // int(BLOCK), MAX_BLOCKS) // shares
    if blocks * int(BLOCK) < LEAST_HEAP:
        raise UserError(
            f"{shares} {'pools' if pools else 'channels'} leave {max(blocks, 0) * int(BLOCK)} bytes of receive "
            "buffer each "
            f"in {end - heap} bytes of SRAM, less than {LEAST_HEAP}: use more NICs, more SRAM, or less of "
            "inline_bytes, "
            f"receives, messages, {'resident' if pools else 'or let channels share pools (resident)'}"
        )
    if pools:
        blocks = min(blocks, POOL_BLOCKS)
    if most_ranks > endpoints:
        blocks = min(
            blocks, lay_out(config, most_ranks, ranks, heap, end, spill_memory, 0, depths).plan["blocks_per_channel"]
        )
    plan |= {
        "magic": int(LAYOUT_MAGIC) | int(LAYOUT_VERSION),
        "endpoints": endpoints,
        "channels": channels,
        "ranks": ranks,
        "messages_per_channel": config.messages,
        "blocks_per_channel": blocks,
        "receives_per_endpoint": config.receives,
        "any_receives": config.any_receives,
        "buffers": config.buffers,
        "stages": config.stages,
        "slot_bytes": slot_bytes,
        "eager_limit": config.eager_limit,
        "unpaid_limit": config.unpaid_limit,
        "ack_slots": config.ack_slots,
        "flaws": LENGTH_FLAWS | BAD_CRC if config.crc_check else LENGTH_FLAWS,
        "mark_entries": config.mark_entries,
        "cut_through": config.cut_through if not window else 0,
        "window": window,
        "spare_buffers": config.spare_buffers,
        "tick": config.retry_cycles // TICKS,
        "retries": config.retries,
        "pools": pools,
        "spill_memory": spill_memory,
        "spill_bytes": spill_bytes(config),
        "hdma_queue": depths.hdma,
        "recv_queue": min(depths.recv, config.buffers),
        "ack_blocks": max(1, blocks // 4) if config.ack_slots > 1 else 1,
    }
    return Layout(plan, regions, slot_bytes, clear)


def words_of(kind: type, values: dict[str, int]) -> bytes:
    """A struct of u32 members as the bytes that the NIC reads."""
    from lanai_firmware.lang.types import layout

    names = layout(kind).fields
    if set(names) != set(values):
        raise ValueError(f"{kind.__name__}: {sorted(set(names) ^ set(values))} are missing or unknown")
    return b"".join(values[name].to_bytes(4, "big") for name in names)


def boot_words(layout: Layout, endpoints: Sequence[EndpointSpec]) -> dict[str, bytes]:
    """What the driver writes before it starts the processor: the bytes of the globals `plan` and
    `endpoint_plans`."""
    endpoint_words = [
        words_of(EndpointPlan, {"region": region, **{f.name: getattr(spec, f.name) for f in fields(spec)}})
        for spec, region in zip(endpoints, layout.regions, strict=True)
    ]
    return {"plan": words_of(Plan, layout.plan), "endpoint_plans": b"".join(endpoint_words)}


def channel_words(routes: Sequence[ChannelRoute]) -> bytes:
    """What the driver writes to `Plan.channel_plan_table`."""
    return b"".join(
        words_of(ChannelPlan, {"route": route.route, "peer_channel": route.peer_channel}) for route in routes
    )
