"""The firmware's configuration, which a user chooses, and the queue depths of the NIC it runs on. Plain Python, not
firmware."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from lanai_firmware.lang import sizeof
from lanai_hdl import ranges
from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError

from . import rows, state
from .layout import BLOCK, HEADER_ROOM, PACKET_BODY, ROOM_UNIT
from .memory.send_buffers import LEAST_PART

MOST_CHANNELS = 1024  # that share pools; how many fit depends on SRAM
OWN_POOLS = 64  # the thesis's ceiling: most channels that have a pool each unless `resident` says otherwise
SHARED_POOLS = 32  # of more channels
POOL_BLOCKS = 72  # most heap blocks of a shared pool: each eviction may copy them all
LEAST_HDMA = 3  # descriptors that must be free before a packet is dealt with (`incoming`)
LEAST_SEND = 2  # ... before one is sent: header and body (`outgoing.can_send`)


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
    "quick": (0, 1),
    "resident": (0, MOST_CHANNELS),
    "mark_entries": (0, 1),
    "send_buffer": (0, 2**19),
    "optimize": (0, 2),
}


@dataclass(frozen=True)
class McpConfig:
    """The options of the firmware: how it shares its memory and which of its protocols it uses. `paper()` follows the
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
        0  # 1: packets that are lost, damaged, doubled or out of order are sent again (docs/design/mpi-np-failures.md)
    )
    window: int = 8  # packets of a channel that may be under way unacknowledged, with recovery
    spare_buffers: int = (
        16  # room for as many long bodies that wait for their acknowledgement, of all channels, with recovery, unless
        # channels have send buffers, which bodies then keep
    )
    retry_cycles: int = 65536  # processor cycles to the first repetition; each one doubles it, up to sixteen times
    retries: int = 8  # repetitions without an answer after which a peer is lost
    cut_through: int = 1  # 0: packets are whole on each NIC before they go on (NP-51). With recovery they always are
    quick: int = 1  # 0: short messages that are expected and parts of long ones take the general path, as all others do
    # pools for messages that all channels share in turn (docs/design/mpi-np.md); 0: one
    # for each channel if they are no more than OWN_POOLS, else SHARED_POOLS
    resident: int = 0
    mark_entries: int = 0  # 1: each page entry is marked in host memory when it has been used (NP-46)
    # bytes of each channel for bodies that it sends, half of them for those that wait for credit (NP-04, NP-39); 0:
    # bodies of all channels pass through the room of the stages
    send_buffer: int = 0
    optimize: int = 2  # by the compiler. 1: not across functions, each is called. 0: not at all, code as it is written

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
        for name in ("crc_check", "cut_through", "mark_entries", "quick", "recovery"):
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
        least = 2 * (max(self.eager_limit, int(LEAST_PART)) + int(HEADER_ROOM))
        if self.send_buffer and (self.send_buffer < least or self.send_buffer % int(ROOM_UNIT)):
            raise UserError(
                f"McpConfig.send_buffer={self.send_buffer} must be 0 or a multiple of {int(ROOM_UNIT)} from {least} "
                f"on: each half holds a packet, of eager_limit={self.eager_limit}"
            )
        if self.messages < 4:
            raise UserError(f"McpConfig.messages={self.messages} leaves no look-ahead; take at least 4")
        if not 1 <= self.ack_slots <= self.messages // 4:
            raise UserError(
                f"McpConfig.ack_slots={self.ack_slots} must be from 1 to a quarter of messages={self.messages}, "
                "or a sender could wait for credit that is never sent"
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
    resident = config.resident or (SHARED_POOLS if channels > OWN_POOLS else channels)
    return resident if resident < channels else 0


def spill_bytes(config: McpConfig) -> int:
    """Host memory that one channel needs for its messages while it is evicted."""
    return config.messages * int(sizeof(rows.Message)) + POOL_BLOCKS * (4 + int(BLOCK))


def constants(config: McpConfig) -> dict[str, int]:
    """Return the constants of the firmware for a configuration."""
    return {"SEND_BUFFERS": int(config.send_buffer != 0)}


def effort(config: McpConfig) -> int:
    """Return how far the compiler goes for a configuration."""
    return config.optimize


def paper() -> McpConfig:
    """The thesis's choices: every message acknowledged (NP-16), small ones sent without credit
    (NP-24), no error check (NP-30)."""
    return McpConfig(ack_slots=1, unpaid_limit=129, crc_check=0)


def thesis_code() -> McpConfig:
    """Policies of `mpi-np-1999`, in code of about the thesis's speed: one path for all messages, each statement
    compiled as it is written. Chosen for mpi-np.s4_3.latency_4B: 4 bytes take 70 us one way, in the thesis 68."""
    return paper().but(mark_entries=1, quick=0, optimize=0)


def small() -> McpConfig:
    """For a few ranks on NICs with 128 KiB of memory, as boards have: fewer messages under way, and shorter ones in a
    request. Two have a pool each, more share two."""
    return McpConfig(messages=16, ack_slots=4, receives=16, inline_bytes=128, buffers=4, stages=4, resident=2)


@dataclass(frozen=True)
class QueueDepths:
    """Entries of the NIC's queues, as its register QUEUE_DEPTHS has them."""

    hdma: int
    send: int
    recv: int

    @classmethod
    def of(cls, word: int) -> Self:
        """Return the depths that a word of QUEUE_DEPTHS holds: a byte each from the top."""
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
