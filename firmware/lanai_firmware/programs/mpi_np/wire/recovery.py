"""Recovery from lost, corrupted, doubled and reordered packets. Beyond the thesis, which relies on
the link (NP-30).

Off, the default, costs two instructions a message. On, each packet of a channel but SEEN has a
number and stays here until the other end has seen it: its header in the channel's ring of
`Unacked`, its body in the buffer or request slot where it was. The other end takes packets in the
order of their numbers, once each, and drops the rest. `Header.seen` of any packet acknowledges what
came before. A SEEN carries nothing else, and is sent when half a window is owed, when a packet came
twice or too early, or when the timer ticks. Packets go again from the first one missing (go back
N): when the other end reports a gap, or after a timeout, which doubles each time. After
`Plan.retries` of them without an answer the peer counts as lost (`losing`).

With send buffers (`McpConfig.send_buffer`) a body keeps its room in its channel's buffer instead.

A packet's memory may be reused only when it is acknowledged AND the send DMA has read its last
repetition.
"""

from lanai_firmware.lang import Ptr, address_of, at, copy, firmware, inline, null, sizeof, u32

from ....nic import send_dma, timer
from ....nic.registers import FIRST, LAST
from ..border.slots import give_slot_back
from ..codes import OWE_ACK, OWE_SEEN
from ..layout import FLAG_GAP, FLAG_NUMBERED, Header
from ..memory.send_buffers import buffer_of, buffered, free_room
from ..protocol.ready import make_ready
from ..rows import Channel, Reliability, Send, Unacked
from ..state import Stage, nic

NUMBERS = 0xFFFF  # numbers count modulo 2**16; a window is far smaller
TICKS = 16  # of the timer: the first timeout
MOST_DOUBLINGS = 4


@inline
def entry_of(reliability: Ptr[Reliability], number: u32) -> Ptr[Unacked]:
    return reliability.unacked + (number & nic.window_mask)


@firmware
def window_open(channel: Ptr[Channel]) -> bool:
    """May one more packet of this channel be made? What is to go again goes first."""
    reliability = channel.reliability
    return reliability.reserved <= nic.window_mask and reliability.again == reliability.next


@firmware
def take_buffer(stage: Ptr[Stage]) -> None:
    """Room for the body of a new stage; `nic.spare_buffer` must not be 0. Bodies of channels with send buffers have
    room there."""
    if not buffered():
        buffer = nic.spare_buffer
        nic.spare_buffer = at(Ptr[u32], buffer)[0]
        stage.buffer = buffer
    reliability = stage.channel.reliability
    reliability.reserved += 1


@firmware
def untake_buffer(stage: Ptr[Stage]) -> None:
    """The new stage is not committed after all."""
    if not buffered():
        return_buffer(stage.buffer)
    reliability = stage.channel.reliability
    reliability.reserved -= 1


@firmware
def return_buffer(buffer: u32) -> None:
    at(Ptr[u32], buffer)[0] = nic.spare_buffer
    nic.spare_buffer = buffer


@inline
def kept_room(stage: Ptr[Stage]) -> u32:
    """Take the room of its body from a stage. Return its address, 0 if the stage has none."""
    if not buffered():
        return stage.buffer
    room = stage.room
    stage.room = 0
    return room


@inline
def return_room(channel: Ptr[Channel], room: u32) -> None:
    """Give back what `kept_room` returned."""
    if buffered():
        if room != 0:
            free_room(address_of(buffer_of(channel).leaving), room)
    else:
        return_buffer(room)


@firmware
def launch_numbered(stage: Ptr[Stage]) -> bool:
    """Hand a stage whose body is there to the send DMA, unless packets of its channel must go again
    and take all room: then False."""
    channel = stage.channel
    reliability = channel.reliability
    if reliability.again != reliability.next and (not resend(channel) or not two_free()):
        return False
    room = kept_room(stage)
    nic.stage_launch += 1
    stage.done = nic.sends
    if reliability.dead != 0:
        reliability.reserved -= 1
        return_room(channel, room)
        if stage.send:
            give_slot_back(stage.send)
            stage.send = null(Send)
        return True
    entry = enter(channel, address_of(stage.header))
    entry.body = stage.body
    entry.length = stage.length
    entry.send = stage.send
    entry.buffer = room
    stage.send = null(Send)
    if not buffered() and stage.body != room:
        return_buffer(room)
        entry.buffer = 0
    transmit(channel, entry)
    return True


@firmware
def send_numbered(channel: Ptr[Channel], header: Ptr[Header]) -> None:
    """Send a packet of control; room in the window and in the send DMA's queue must be there."""
    channel.reliability.reserved += 1
    entry = enter(channel, header)
    entry.length = 0
    entry.buffer = 0
    entry.send = null(Send)
    transmit(channel, entry)


@firmware
def enter(channel: Ptr[Channel], header: Ptr[Header]) -> Ptr[Unacked]:
    """Number a packet, and keep its header. The credit word stays what it is now: a repetition that
    the other end drops changes nothing."""
    reliability = channel.reliability
    number = reliability.next
    if number == reliability.acked:
        reliability.since = nic.ticks
    reliability.next = (number + 1) & NUMBERS
    reliability.again = reliability.next
    given = channel.given
    channel.told = given
    channel.control &= ~(OWE_ACK | OWE_SEEN)
    entry = entry_of(reliability, number)
    header.credit = given
    header.flags |= FLAG_NUMBERED
    header.number = number
    header.sequence = reliability.here
    copy(address_of(entry.header), header, sizeof(Header))
    nic.unacked += 1
    return entry


@firmware
def transmit(channel: Ptr[Channel], entry: Ptr[Unacked]) -> None:
    """Queue a kept packet for the send DMA, which must have room for two descriptors."""
    reliability = channel.reliability
    entry.header.seen = reliability.expect
    reliability.owed = 0
    send_dma.route(channel.route)
    send_dma.describe(u32(entry), sizeof(Header))
    length = entry.length
    if length == 0:
        send_dma.start(FIRST | LAST)
        nic.sends += 1
    else:
        send_dma.start(FIRST)
        send_dma.queue(entry.body, length, LAST)
        nic.sends += 2
    entry.done = nic.sends
    arm()


@firmware
def resend(channel: Ptr[Channel]) -> bool:
    """Send packets again, as many as the send DMA takes. False if some are left."""
    reliability = channel.reliability
    while reliability.again != reliability.next:
        entry = entry_of(reliability, reliability.again)
        if not has_left(entry) or not two_free():
            return False
        reliability.again = (reliability.again + 1) & NUMBERS
        nic.resent += 1
        transmit(channel, entry)
    return True


@inline
def two_free() -> bool:
    """Does the send DMA's queue take a header and a body?"""
    return send_dma.free() >= 2


@inline
def has_left(entry: Ptr[Unacked]) -> bool:
    return send_dma.reached(entry.done)


@firmware
def release_seen(channel: Ptr[Channel]) -> bool:
    """Give back what acknowledged packets held. False if the send DMA still reads one of them."""
    reliability = channel.reliability
    while reliability.base != reliability.acked:
        entry = entry_of(reliability, reliability.base)
        if not has_left(entry):
            return False
        if entry.buffer != 0:
            return_room(channel, entry.buffer)
        if entry.send:
            give_slot_back(entry.send)
        reliability.base = (reliability.base + 1) & NUMBERS
        reliability.reserved -= 1
        nic.unacked -= 1
    return True


@firmware
def release_and_resend(channel: Ptr[Channel]) -> bool:
    """Release acknowledged packets and send again what is missing. False if something is left to
    do."""
    released = release_seen(channel)
    return resend(channel) and released


@firmware
def on_seen(channel: Ptr[Channel], header: Ptr[Header]) -> None:
    """Take the acknowledgement in a sound packet: the packets before `seen` have arrived. With
    FLAG_GAP those from `seen` on must be sent again."""
    reliability = channel.reliability
    seen = u32(header.seen)
    news = (seen - reliability.acked) & NUMBERS
    under_way = (reliability.next - reliability.acked) & NUMBERS
    if news > under_way:
        return
    if news != 0:
        if ((reliability.again - reliability.acked) & NUMBERS) < news:
            reliability.again = seen
        reliability.acked = seen
        reliability.tries = 0
        reliability.since = nic.ticks
        release_seen(channel)
        make_ready(channel)
    if (header.flags & FLAG_GAP) != 0 and seen != reliability.next and reliability.again == reliability.next:
        reliability.again = seen
        reliability.since = nic.ticks
        make_ready(channel)


@inline
def arm() -> None:
    """Start the timer, unless it runs."""
    if nic.armed == 0:
        nic.armed = 1
        timer.start(nic.tick)


@firmware
def timed_out(channel: Ptr[Channel]) -> bool:
    """One tick of the timer for one channel. True if its peer counts as lost: it has not answered
    any repetition."""
    reliability = channel.reliability
    if reliability.owed != 0:
        channel.control |= OWE_SEEN
        make_ready(channel)
    if reliability.next == reliability.acked:
        return False
    arm()
    tries = reliability.tries
    timeout = u32(TICKS) << (tries if tries < MOST_DOUBLINGS else u32(MOST_DOUBLINGS))
    if nic.ticks - reliability.since < timeout:
        return False
    reliability.since = nic.ticks
    reliability.tries = tries + 1
    reliability.again = reliability.acked
    make_ready(channel)
    return tries >= nic.retries
