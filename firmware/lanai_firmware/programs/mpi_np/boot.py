"""From the driver's plan to a NIC that is ready: tables filled, free lists strung, buffers posted
(NP-05)."""

from lanai_firmware.lang import Ptr, address_of, at, firmware, minimum, sizeof, u32

from ...nic.registers import CHASE, CHECK, FEED, FIRST, LAST, SCRATCH0, TO_SRAM
from .layout import (
    BLOCK,
    CUT_THROUGH,
    FOLLOW_FROM,
    HEADER_ROOM,
    LAYOUT_MAGIC,
    LAYOUT_VERSION,
    MOST_ENTRIES,
    PACKET_BODY,
    QUICK,
    REQUEST_TAIL,
    SLOTS,
    ChannelPlan,
    Header,
    Record,
    Region,
    Request,
    Type,
)
from .memory.pools import clear_pool, evict_empty
from .memory.send_buffers import buffered, make_send_buffers
from .protocol.quick_sends import live_request
from .rows import Channel, Endpoint, Message, Pool, Posted, Receive, Reliability, Send, Unacked
from .state import Buffer, Stage, endpoint_plans, nic, plan
from .wire.buffers import post_buffers
from .wire.recovery import return_buffer


@firmware
def boot() -> bool:
    """Set everything up. False if the plan is not one of this firmware's; the driver reads SCRATCH0
    either way."""
    SCRATCH0.store(LAYOUT_MAGIC)
    if plan.magic != (LAYOUT_MAGIC | LAYOUT_VERSION):
        return False
    take_plan()
    for number in range(plan.endpoints):
        boot_endpoint(nic.endpoints + number, number)
    for number in range(plan.channels):
        boot_channel(nic.channels + number, number)
    boot_buffers()
    post_buffers()
    SCRATCH0.store(LAYOUT_MAGIC | LAYOUT_VERSION)
    return True


@firmware
def take_plan() -> None:
    nic.endpoints = at(Ptr[Endpoint], plan.endpoint_table)
    nic.turn = nic.endpoints
    nic.sends_table = at(Ptr[Send], plan.send_table)
    nic.send_count = plan.endpoints * SLOTS
    nic.channels = at(Ptr[Channel], plan.channel_table)
    nic.channel_count = plan.channels
    quick = plan.window == 0 and plan.ways & QUICK != 0
    nic.quick_channels = plan.channels if quick else u32(0)
    nic.ranks = plan.ranks
    nic.messages = at(Ptr[Message], plan.message_table)
    nic.messages_per_channel = plan.messages_per_channel
    nic.message_count = plan.messages_per_channel * plan.channels
    nic.blocks = plan.block_table - BLOCK  # blocks are numbered from 1
    nic.receives = at(Ptr[Receive], plan.receive_table)
    nic.receives_per_endpoint = plan.receives_per_endpoint
    nic.receive_count = plan.receives_per_endpoint * plan.endpoints
    nic.buffers = at(Ptr[Buffer], plan.buffer_table)
    nic.buffer_mask = plan.buffers - 1
    nic.recv_queue = plan.recv_queue
    nic.buffers_due = plan.recv_queue
    nic.hdma_queue = plan.hdma_queue
    nic.stages = at(Ptr[Stage], plan.stage_table)
    nic.stage_mask = plan.stages - 1
    nic.inline_limit = plan.slot_bytes - sizeof(Request)
    nic.eager_limit = plan.eager_limit
    nic.short_limit = minimum(nic.inline_limit, nic.eager_limit)
    nic.unpaid_limit = plan.unpaid_limit
    nic.ack_slots = plan.ack_slots
    nic.ack_blocks = plan.ack_blocks
    nic.flaws = plan.flaws
    nic.mark_entries = plan.mark_entries
    nic.mark = 1
    nic.looked = ~u32(0)
    nic.feed = TO_SRAM
    nic.chase = LAST
    nic.check = FIRST
    if plan.ways & CUT_THROUGH != 0:
        nic.feed = TO_SRAM | FEED
        nic.chase = LAST | CHASE
        nic.check = FIRST | CHECK
        nic.watermark = u32(sizeof(Header)) + FOLLOW_FROM
    nic.short_stages = plan.stages if quick else u32(0)
    nic.recovery = plan.window
    nic.window_mask = plan.window - 1
    nic.tick = plan.tick
    nic.retries = plan.retries
    nic.pressure = plan.messages_per_channel >> 1
    nic.blocks_per_channel = plan.blocks_per_channel
    nic.spill_memory = plan.spill_memory
    nic.spill_bytes = plan.spill_bytes
    if buffered():
        make_send_buffers()


@firmware
def boot_endpoint(endpoint: Ptr[Endpoint], number: u32) -> None:
    given = address_of(endpoint_plans[number])
    endpoint.region = at(Ptr[Region], given.region)
    endpoint.rank = given.rank
    endpoint.number = number
    endpoint.bit = u32(1) << number
    endpoint.following = nic.endpoints if number + 1 == plan.endpoints else endpoint + 1
    endpoint.window = given.window
    endpoint.window_mask = given.window_mask
    endpoint.record_ring = given.record_ring
    endpoint.record_end = given.record_ring + given.records * sizeof(Record)
    endpoint.record = given.record_ring
    endpoint.sequence = 1
    endpoint.page_table = given.page_table
    endpoint.page_entries = given.page_entries
    endpoint.announced = at(Ptr[u32], plan.announced_table) + number * (MOST_ENTRIES >> 5)
    endpoint.sends = nic.sends_table + number * SLOTS
    endpoint.poll = endpoint.sends
    endpoint.channels = nic.channels + number * plan.ranks
    endpoint.receives = nic.receives + number * plan.receives_per_endpoint
    endpoint.region.freed = 0
    endpoint.region.alarm = 0
    tail = given.region + sizeof(Region) + plan.slot_bytes - REQUEST_TAIL
    for slot in range(SLOTS):
        send = endpoint.sends + slot
        send.tail = tail
        live_request(send).command = 0
        send.endpoint = endpoint
        send.bit = u32(1) << slot
        tail += plan.slot_bytes
    for index in range(plan.receives_per_endpoint):
        receive = endpoint.receives + index
        receive.endpoint = endpoint
        receive.number = number * plan.receives_per_endpoint + index
    copies = plan.any_receives * plan.ranks
    copy = at(Ptr[Posted], plan.copy_table) + number * copies
    for _ in range(copies):
        copy.chain = endpoint.copy_free
        endpoint.copy_free = copy
        copy += 1


@firmware
def boot_channel(channel: Ptr[Channel], number: u32) -> None:
    given = at(Ptr[ChannelPlan], plan.channel_plan_table) + number
    channel.number = number
    channel.route = given.route
    channel.peer_channel = given.peer_channel
    channel.eager_word = (u32(Type.EAGER) << 24) | given.peer_channel
    endpoint = nic.endpoints + number // plan.ranks
    channel.endpoint = endpoint
    channel.rank = number % plan.ranks
    if plan.window != 0:
        reliability = at(Ptr[Reliability], plan.reliability_table) + number
        reliability.unacked = at(Ptr[Unacked], plan.unacked_table) + number * plan.window
        reliability.here = (endpoint.rank << 8) | channel.rank
        reliability.there = (channel.rank << 8) | endpoint.rank
        channel.reliability = reliability
    expected = address_of(channel.expected)
    expected.next = expected
    expected.previous = expected
    unclaimed = address_of(channel.unclaimed)
    unclaimed.next = unclaimed
    unclaimed.previous = unclaimed
    channel.slot_credit = plan.messages_per_channel
    channel.block_credit = plan.blocks_per_channel
    if plan.pools == 0:
        clear_pool(channel, number)
        return
    pool = at(Ptr[Pool], plan.pool_table) + number % plan.pools
    channel.pool = pool
    if number < plan.pools:
        pool.owner = channel
        pool.number = number
        clear_pool(channel, number)
    else:
        evict_empty(channel)


@firmware
def boot_buffers() -> None:
    room = u32(sizeof(Header)) + PACKET_BODY
    start = plan.buffer_space
    for i in range(plan.buffers):
        buffer = nic.buffers + i
        buffer.start = start
        buffer.limit = start + room
        buffer.release = 0
        start += room
    start = plan.stage_space
    for i in range(plan.stages):
        stage = nic.stages + i
        stage.buffer = start + HEADER_ROOM
        start = start + HEADER_ROOM + PACKET_BODY
    if plan.window != 0 and not buffered():
        for i in range(plan.stages):
            return_buffer((nic.stages + i).buffer)
        for _ in range(plan.spare_buffers):
            return_buffer(start + HEADER_ROOM)
            start = start + HEADER_ROOM + PACKET_BODY
