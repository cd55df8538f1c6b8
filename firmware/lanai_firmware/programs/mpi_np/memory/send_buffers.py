"""Send buffers of channels: each has room of its own for what it sends (NP-04, NP-39). Beyond the default,
in which the bodies of all channels pass through the room of the stages (`McpConfig.send_buffer`).

Half of a channel's buffer is for bodies that wait for credit, in the order of its sends: they are brought
while they wait, and their sends are reported as done. The other half is for packets under way. They are two
rings because a body that waits may need another one to be answered first (NP-G9). A body that
does not fit behind the last one goes to the start of the ring; a long one leaves in parts, as large as
there is room, and the rest stays with the host.

A room begins with a word, HEADER_ROOM before its body: the bytes that it takes, and below them its FREE and
LOST. Rooms become free in any order, and are used again from the oldest on.

`buffered` guards all calls. Images for channels without send buffers are compiled without what it guards.
"""

from lanai_firmware.lang import Const, Ptr, address_of, at, firmware, inline, minimum, sizeof, u32

from ....nic import host_dma
from ..layout import HEADER_ROOM, ROOM_UNIT, Op
from ..rows import Channel, Ring, Send, SendBuffer
from ..state import SEND_BUFFERS, Stage, nic, plan

UNIT: Const[u32] = u32(32)  # room is given out in these, so that the word's lower bits are flags
FREE: Const[u32] = u32(1)
LOST: Const[u32] = u32(2)  # the body could not be read
LEAST_PART: Const[u32] = u32(512)  # a shorter part of a body waits for more room


@inline
def buffered() -> bool:
    """Return whether channels have send buffers."""
    return SEND_BUFFERS != 0 and plan.ways >> 16 != 0


@inline
def send_buffers() -> Ptr[SendBuffer]:
    """Return the send buffers of all channels, by number."""
    return at(Ptr[SendBuffer], plan.stage_space)


@inline
def buffer_of(channel: Ptr[Channel]) -> Ptr[SendBuffer]:
    return send_buffers() + channel.number


@firmware
def fitting(ring: Ptr[Ring], length: u32, least: u32) -> u32:
    """Return how many of a body's `length` bytes go to the next place. 0: fewer than `least`, so it must wait for
    room."""
    behind = place_behind(ring)
    if behind < least and ring.tail >= ring.head and ring.used != ring.size:
        behind = room_in(ring.head)
    return u32(0) if behind < least else minimum(length, behind)


@firmware
def place_behind(ring: Ptr[Ring]) -> u32:
    """Bytes that a body right behind the last one may have."""
    if ring.used == 0:
        ring.head = 0
        ring.tail = 0
    if ring.used == ring.size:
        return u32(0)
    return room_in((ring.size if ring.tail >= ring.head else ring.head) - ring.tail)


@inline
def room_in(size: u32) -> u32:
    """Bytes of a body in `size` bytes of room."""
    return size - HEADER_ROOM if size > HEADER_ROOM else u32(0)


@firmware
def take_room(ring: Ptr[Ring], length: u32) -> u32:
    """Take room for a body, which must fit."""
    if place_behind(ring) < length:
        skipped = ring.size - ring.tail
        if skipped != 0:
            at(Ptr[u32], ring.start + ring.tail)[0] = skipped | FREE
        ring.used += skipped
        ring.tail = 0
    size = (length + HEADER_ROOM + UNIT - 1) & ~(UNIT - 1)
    room = ring.start + ring.tail
    at(Ptr[u32], room)[0] = size
    ring.tail += size
    if ring.tail == ring.size:
        ring.tail = 0
    ring.used += size
    return room


@firmware
def free_room(ring: Ptr[Ring], room: u32) -> None:
    """The body is of no more use. Its room can be taken again once all older ones can."""
    at(Ptr[u32], room)[0] |= FREE
    while ring.used != 0:
        word = at(Ptr[u32], ring.start + ring.head)[0]
        if (word & FREE) == 0:
            return
        size = word & ~(UNIT - 1)
        ring.head += size
        if ring.head == ring.size:
            ring.head = 0
        ring.used -= size


@firmware
def fits(channel: Ptr[Channel], length: u32) -> bool:
    """Is there room for all of a packet's body?"""
    return length == 0 or fitting(address_of(buffer_of(channel).leaving), length, length) != 0


@firmware
def part_fits(channel: Ptr[Channel], length: u32) -> bool:
    """Is there room for a part of a body whose rest is `length` bytes?"""
    return length == 0 or fitting(address_of(buffer_of(channel).leaving), length, minimum(length, LEAST_PART)) != 0


@firmware
def stage_part(stage: Ptr[Stage], length: u32) -> u32:
    """Give a stage room for as many of `length` bytes as fit; how many that are."""
    ring = address_of(buffer_of(stage.channel).leaving)
    part = fitting(ring, length, minimum(length, LEAST_PART))
    stage.room = take_room(ring, part)
    stage.buffer = stage.room + HEADER_ROOM
    return part


@firmware
def free_staged(stage: Ptr[Stage]) -> None:
    """The stage's packet has left."""
    if stage.room != 0:
        free_room(address_of(buffer_of(stage.channel).leaving), stage.room)
        stage.room = 0


@firmware
def take_ahead(channel: Ptr[Channel], length: u32) -> u32:
    """Take room for the body of a send that waits. 0 if there is none."""
    ring = address_of(buffer_of(channel).ahead)
    return u32(0) if fitting(ring, length, length) == 0 else take_room(ring, length)


@inline
def is_ahead(send: Ptr[Send]) -> bool:
    """Has the body of an inline send been brought? Else it lies in its request slot."""
    return send.table != 0


@inline
def ahead_is_here(channel: Ptr[Channel]) -> bool:
    """Are the bodies of sends that wait here?"""
    return host_dma.reached(buffer_of(channel).brought)


@firmware
def free_ahead(send: Ptr[Send]) -> None:
    """The send's request slot is given back: so is the room of a body that was brought."""
    if send.op == Op.SEND_INLINE and is_ahead(send):
        free_room(address_of(buffer_of(send.channel).ahead), send.table)
        send.table = 0


@inline
def is_lost(send: Ptr[Send]) -> bool:
    """Could the body of an inline send not be read?"""
    return is_ahead(send) and (at(Ptr[u32], send.table)[0] & LOST) != 0


@firmware
def lose_ahead(last: u32) -> bool:
    """The body that the last byte of a failed transfer belongs to is lost. False if it is not one that waits."""
    for number in range(nic.channel_count):
        ring = address_of((send_buffers() + number).ahead)
        if last - ring.start < ring.size:
            place = ring.start + ring.head
            word = at(Ptr[u32], place)
            while last - place >= (word[0] & ~(UNIT - 1)):
                place += word[0] & ~(UNIT - 1)
                if place == ring.start + ring.size:
                    place = ring.start
                word = at(Ptr[u32], place)
            word[0] |= LOST
            return True
    return False


@firmware
def make_send_buffers() -> None:
    """Share out `Plan.stage_space`: a row for each channel, then their rooms."""
    bytes_each = (plan.ways >> 16) * ROOM_UNIT
    place = plan.stage_space + plan.channels * sizeof(SendBuffer)
    for number in range(plan.channels):
        buffer = send_buffers() + number
        make_ring(address_of(buffer.ahead), place, bytes_each >> 1)
        make_ring(address_of(buffer.leaving), place + (bytes_each >> 1), bytes_each >> 1)
        buffer.brought = 0
        place += bytes_each


@firmware
def make_ring(ring: Ptr[Ring], start: u32, size: u32) -> None:
    ring.start = start
    ring.size = size
    ring.head = 0
    ring.tail = 0
    ring.used = 0


def send_buffer_share(size: int) -> int:
    """Return the bytes of SRAM that a channel's send buffer takes."""
    return size + int(sizeof(SendBuffer))
