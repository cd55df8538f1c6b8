"""Recovery from lost, corrupted, doubled and reordered packets. Beyond the thesis, which relies on the link (NP-30).

Off, the default, costs two instructions a message. On, each packet of a channel but SEEN has a number and stays here until the other end
has seen it: its header in the channel's ring of `Unacked`, its body in the buffer or request slot where it was. The other end takes
packets in the order of their numbers, once each, and drops the rest. `Header.seen` of any packet tells what came before; a
SEEN carries nothing else, and is sent when half a window is owed, when a packet came twice or too early, or when the timer ticks.
Packets go again from the first one missing (go back N): when the other end tells of a gap, or after a timeout, which doubles each time. After
`Plan.retries` of them without an answer the peer counts as lost (`losing`).

A packet's memory may be reused only when it is acknowledged AND the send DMA has read its last repetition.
"""

from lanai_firmware.lang import Ptr, address_of, at, copy, firmware, inline, null, sizeof, u32

from ....nic import send_dma, timer
from ....nic.registers import FIRST, LAST
from ..border.slots import give_slot_back
from ..layout import FLAG_GAP, FLAG_NUMBERED, Header, Type
from ..protocol.ready import make_ready
from ..state import FRAMES, OWE_ACK, OWE_GAP, OWE_SEEN, Channel, Line, Send, Stage, Unacked, frames, nic

NUMBERS = 0xFFFF  # numbers count modulo 2**16; a window is far smaller
TICKS = 16  # of the timer: the first timeout
MOST_DOUBLINGS = 4


@inline
def entry_of(line: Ptr[Line], number: u32) -> Ptr[Unacked]:
    return line.unacked + (number & nic.window_mask)


@firmware
def window_open(channel: Ptr[Channel]) -> bool:
    """May one more packet of this channel be made? What is to go again goes first."""
    line = channel.line
    return line.reserved <= nic.window_mask and line.again == line.next


@firmware
def take_buffer(stage: Ptr[Stage]) -> None:
    """Room for the body of a new stage; `nic.spare_buffer` must not be 0."""
    buffer = nic.spare_buffer
    nic.spare_buffer = at(Ptr[u32], buffer)[0]
    stage.buffer = buffer
    line = stage.channel.line
    line.reserved += 1


@firmware
def untake_buffer(stage: Ptr[Stage]) -> None:
    """The new stage is not committed after all."""
    return_buffer(stage.buffer)
    line = stage.channel.line
    line.reserved -= 1


@firmware
def return_buffer(buffer: u32) -> None:
    at(Ptr[u32], buffer)[0] = nic.spare_buffer
    nic.spare_buffer = buffer


@firmware
def launch_numbered(stage: Ptr[Stage]) -> bool:
    """Hand a stage whose body is there to the send DMA, unless packets of its channel must go again and take all room: then False."""
    channel = stage.channel
    line = channel.line
    if line.again != line.next and (not resend(channel) or not two_free()):
        return False
    buffer = stage.buffer
    nic.stage_launch += 1
    stage.done = nic.sends
    if line.dead != 0:
        line.reserved -= 1
        return_buffer(buffer)
        if stage.send:
            give_slot_back(stage.send)
            stage.send = null(Send)
        return True
    entry = enter(channel, address_of(stage.header))
    entry.body = stage.body
    entry.length = stage.length
    entry.send = stage.send
    entry.buffer = buffer
    stage.send = null(Send)
    if stage.body != buffer:
        return_buffer(buffer)
        entry.buffer = 0
    transmit(channel, entry)
    return True


@firmware
def send_numbered(channel: Ptr[Channel], header: Ptr[Header]) -> None:
    """Send a packet of control; room in the window and in the send DMA's queue must be there."""
    channel.line.reserved += 1
    entry = enter(channel, header)
    entry.length = 0
    entry.buffer = 0
    entry.send = null(Send)
    transmit(channel, entry)


@firmware
def enter(channel: Ptr[Channel], header: Ptr[Header]) -> Ptr[Unacked]:
    """Number a packet, and keep its header. The credit word stays what it is now: a repetition that the other end drops tells nothing."""
    line = channel.line
    number = line.next
    if number == line.acked:
        line.since = nic.ticks
    line.next = (number + 1) & NUMBERS
    line.again = line.next
    given = channel.given
    channel.told = given
    channel.control &= ~(OWE_ACK | OWE_SEEN)
    entry = entry_of(line, number)
    header.credit = given
    header.flags |= FLAG_NUMBERED
    header.number = number
    header.sequence = line.here
    copy(address_of(entry.header), header, sizeof(Header))
    nic.unacked += 1
    return entry


@firmware
def transmit(channel: Ptr[Channel], entry: Ptr[Unacked]) -> None:
    """Queue a kept packet for the send DMA, which must have room for two descriptors."""
    line = channel.line
    entry.header.seen = line.expect
    line.owed = 0
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
    line = channel.line
    while line.again != line.next:
        entry = entry_of(line, line.again)
        if not has_left(entry) or not two_free():
            return False
        line.again = (line.again + 1) & NUMBERS
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
    line = channel.line
    while line.base != line.acked:
        entry = entry_of(line, line.base)
        if not has_left(entry):
            return False
        if entry.buffer != 0:
            return_buffer(entry.buffer)
        if entry.send:
            give_slot_back(entry.send)
        line.base = (line.base + 1) & NUMBERS
        line.reserved -= 1
        nic.unacked -= 1
    return True


@firmware
def tend(channel: Ptr[Channel]) -> bool:
    """The channel's turn: release and repeat. False if something is left to do."""
    released = release_seen(channel)
    return resend(channel) and released


@firmware
def handle(channel: Ptr[Channel], header: Ptr[Header]) -> None:
    """What a sound packet says of ours: those before `seen` have come, and with FLAG_GAP that those from there on must come again."""
    line = channel.line
    seen = u32(header.seen)
    news = (seen - line.acked) & NUMBERS
    under_way = (line.next - line.acked) & NUMBERS
    if news > under_way:
        return
    if news != 0:
        if ((line.again - line.acked) & NUMBERS) < news:
            line.again = seen
        line.acked = seen
        line.tries = 0
        line.since = nic.ticks
        release_seen(channel)
        make_ready(channel)
    if (header.flags & FLAG_GAP) != 0 and seen != line.next and line.again == line.next:
        line.again = seen
        line.since = nic.ticks
        make_ready(channel)


@firmware
def admit(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """Is this the packet that comes next? Others are dropped, and the other end is told what is missing."""
    line = channel.line
    if header.sequence != line.there or (header.flags & FLAG_NUMBERED) == 0:
        nic.dropped += 1
        return False
    handle(channel, header)
    if header.type == Type.SEEN or line.dead != 0:
        return False
    arm()
    early = (u32(header.number) - line.expect) & NUMBERS
    if early == 0:
        line.expect = (line.expect + 1) & NUMBERS
        line.gap = 0
        owed = line.owed + 1
        line.owed = owed
        if owed > nic.window_mask >> 1:
            channel.control |= OWE_SEEN
            make_ready(channel)
        return True
    nic.repeated += 1
    if early > nic.window_mask:
        channel.control |= OWE_SEEN
    elif line.gap == 0:
        line.gap = 1  # told once: if what is missing gets lost again, the other end's timeout brings it
        channel.control |= OWE_GAP
    make_ready(channel)
    return False


@firmware
def send_seen(channel: Ptr[Channel]) -> None:
    """Tell the other end what has come. Not numbered: the next one says the same and more."""
    owed = channel.control
    channel.control = owed & ~(OWE_SEEN | OWE_GAP)
    frame = address_of(frames[nic.frame])
    nic.frame = (nic.frame + 1) & (FRAMES - 1)
    header = address_of(frame.header)
    header.type = Type.SEEN
    header.flags = FLAG_NUMBERED | FLAG_GAP if (owed & OWE_GAP) != 0 else FLAG_NUMBERED
    header.channel = channel.peer_channel
    header.sequence = channel.line.here
    header.seen = channel.line.expect
    channel.line.owed = 0
    send_dma.queue_packet(channel.route, u32(header), sizeof(Header))
    nic.sends += 1


@inline
def arm() -> None:
    """Let the timer tick, unless it does."""
    if nic.armed == 0:
        nic.armed = 1
        timer.start(nic.tick)


@firmware
def late(channel: Ptr[Channel]) -> bool:
    """One tick of the timer for one channel. True if its peer has not answered for so long that it counts as lost."""
    line = channel.line
    if line.owed != 0:
        channel.control |= OWE_SEEN
        make_ready(channel)
    if line.next == line.acked:
        return False
    arm()
    tries = line.tries
    patience = u32(TICKS) << (tries if tries < MOST_DOUBLINGS else u32(MOST_DOUBLINGS))
    if nic.ticks - line.since < patience:
        return False
    line.since = nic.ticks
    line.tries = tries + 1
    line.again = line.acked
    make_ready(channel)
    return tries >= nic.retries
