"""The receiving end of recovery: packets are taken in the order of their numbers, once each, and
acknowledged to the other end."""

from lanai_firmware.lang import Ptr, address_of, firmware, sizeof, u32

from ....nic import send_dma
from ..codes import OWE_GAP, OWE_SEEN
from ..layout import FLAG_GAP, FLAG_NUMBERED, Header, Type
from ..protocol.ready import make_ready
from ..rows import Channel
from ..state import FRAMES, frames, nic
from .recovery import NUMBERS, arm, on_seen


@firmware
def accept_next(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """Is this the next packet in order? Others are dropped, and the other end is asked for what is
    missing."""
    reliability = channel.reliability
    if header.sequence != reliability.there or (header.flags & FLAG_NUMBERED) == 0:
        nic.dropped += 1
        return False
    on_seen(channel, header)
    if header.type == Type.SEEN or reliability.dead != 0:
        return False
    arm()
    early = (u32(header.number) - reliability.expect) & NUMBERS
    if early == 0:
        reliability.expect = (reliability.expect + 1) & NUMBERS
        reliability.gap = 0
        owed = reliability.owed + 1
        reliability.owed = owed
        if owed > nic.window_mask >> 1:
            channel.control |= OWE_SEEN
            make_ready(channel)
        return True
    nic.repeated += 1
    if early > nic.window_mask:
        channel.control |= OWE_SEEN
    elif reliability.gap == 0:
        reliability.gap = 1  # asked once: if what is missing gets lost again, the other end's timeout brings it
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
    header.sequence = channel.reliability.here
    header.seen = channel.reliability.expect
    channel.reliability.owed = 0
    send_dma.queue_packet(channel.route, u32(header), sizeof(Header))
    nic.sends += 1
