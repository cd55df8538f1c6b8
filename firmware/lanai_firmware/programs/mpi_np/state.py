"""State that the firmware keeps in SRAM once: packets on their way out, receive buffers, and `nic`, which
points at the tables.

The host cannot reach anything here or in `rows`, so none of it need be checked again. What the
host can reach is in `layout`.
"""

from lanai_firmware.lang import Array, Const, Global, Ptr, Struct, sizeof, u32

from .layout import EndpointPlan, Header, Plan, Record
from .rows import Channel, Endpoint, Message, Receive, Send


class Stage(Struct):
    """A packet on its way out: its header, and where its body is or will be."""

    header: Header
    channel: Ptr[Channel]
    body: u32  # SRAM address
    length: u32
    ready: u32  # host DMA count at which the body is there
    done: u32  # send DMA count at which the packet has left
    send: Ptr[Send]  # slot to give back then, or null
    buffer: u32  # this entry's own room for a body of PACKET_BODY bytes
    bodies: u32
    room: u32  # of its body in its channel's send buffer, 0: none


class Buffer(Struct):
    """One buffer of the common receive buffer (NP-25)."""

    start: u32
    limit: u32
    release: u32  # host DMA count at which its last packet has been uploaded
    spare: u32


class Frame(Struct):
    """Room for a header without body."""

    header: Header
    spare: u32


class Nic(Struct):
    """Everything else."""

    endpoints: Ptr[Endpoint]
    turn: Ptr[Endpoint]  # that may have its request taken next
    sends_table: Ptr[Send]
    send_count: u32
    channels: Ptr[Channel]
    channel_count: u32
    quick_channels: u32  # whose packets may take the fast path: none with recovery
    ranks: u32
    messages: Ptr[Message]
    message_count: u32
    messages_per_channel: u32
    blocks: u32  # address of heap block 0
    receives: Ptr[Receive]
    receive_count: u32
    receives_per_endpoint: u32
    buffers: Ptr[Buffer]
    buffer_mask: u32
    recv_queue: u32  # buffers to keep posted
    buffers_posted: u32
    # that should have been posted by now: as many more as packets have been dealt with. Modulo the
    # ring's length it is the
    buffers_due: u32
    # place of the buffer with the oldest packet, which was posted `recv_queue` buffers ago
    stages: Ptr[Stage]
    stage_mask: u32
    stage_tail: u32  # next to fill; counts never wrap to their index, the mask does that
    stage_launch: u32  # next to hand to the send DMA
    stage_head: u32  # next to retire
    hdma: u32  # host DMA descriptors queued so far
    hdma_queue: u32  # ... that its queue holds
    sends: u32  # send DMA descriptors queued so far
    frame: u32
    record: u32
    ready_first: Ptr[Channel]
    ready_last: Ptr[Channel]
    ready_count: u32
    idle_turns: u32  # turns since the last one that did anything
    leaving_first: Ptr[Message]
    leaving_last: Ptr[Message]
    inline_limit: u32
    short_limit: u32  # inline bodies up to this may go on credit
    short_stages: u32  # stages that short sends may use on the fast path: none with recovery
    eager_limit: u32
    unpaid_limit: u32
    ack_slots: u32
    ack_blocks: u32
    pressure: u32  # unclaimed messages of a channel at which the host gets a record
    dropped: u32  # packets that made no sense (NP-28)
    refused: u32  # requests that made none
    wire_errors: u32
    flaws: u32
    mark_entries: u32
    mark: u32  # what is written to a used entry
    feed: u32  # how bodies are brought in for the send DMA: TO_SRAM, with FEED if it may chase
    chase: u32  # how they are sent: LAST, with CHASE likewise; then
    check: u32  # FIRST, with CHECK
    watermark: u32  # bytes of a packet after which it may be followed; 0: never
    looked: u32  # packets that had finished when one was last looked at while it arrived: each is looked at once
    followed: u32  # address of the packet that is followed, 0: none
    followed_receive: Ptr[Receive]
    follow_from: u32  # host DMA counts: of the first transfer of the last packet followed,
    follow_until: u32  # ... of the last one, and
    follow_record: u32  # ... of its record, if it was a whole message
    taking: Ptr[Receive]  # takes a body in several transfers just now, or null
    dma_errors: u32  # transfers to or from host memory that failed
    recovery: u32  # nonzero: on
    window_mask: u32
    spare_buffer: u32  # first free buffer for a body, 0: none; each begins with the address of the next
    unacked: u32  # packets kept, of all channels
    armed: u32  # nonzero: the timer will tick
    tick: u32
    ticks: u32
    retries: u32
    resent: u32  # packets sent again
    repeated: u32  # packets that came twice or too early
    spill_memory: u32  # bus address of the memory that evicted channels leave their messages in
    spill_bytes: u32  # for each channel
    blocks_per_channel: u32
    saved: u32  # channels whose messages were written to host memory
    fetched: u32  # ... brought back


assert sizeof(Stage) == 64, sizeof(Stage)

FRAMES: Const[u32] = u32(16)
RECORDS: Const[u32] = u32(16)
MAX_ENDPOINTS: Const[u32] = u32(8)
# 0 in images for channels without send buffers, which leave out what that guards (`Firmware.constants`)
SEND_BUFFERS: Const[u32] = u32(1)
MAX_BLOCKS: Const[u32] = u32(4095)  # of the heap; their numbers begin with 1

plan: Global[Plan]
nic: Global[Nic]
frames: Global[Array[Frame, FRAMES]]
staged_records: Global[Array[Record, RECORDS]]
endpoint_plans: Global[Array[EndpointPlan, MAX_ENDPOINTS]]
links: Global[Array[u32, MAX_BLOCKS + 1]]  # heap: the number of the block that follows, 0: none
