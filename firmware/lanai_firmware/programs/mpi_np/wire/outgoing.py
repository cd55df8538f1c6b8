"""Packets on their way out.

Packets with an envelope or a body go through the stages, a ring kept in order, so that no envelope
overtakes another (NP-08). A stage leaves once its body is in SRAM, be that in a request slot
(written by the host) or in the stage's own room (brought by the host DMA, so that bodies of any
length pass in parts, NP-39). Packets of control only bypass the stages: they wait for the link
alone (NP-27).
"""

from lanai_firmware.lang import Const, Ptr, address_of, at, firmware, inline, null, sizeof, u32

from ....nic import host_dma, send_dma
from ....nic.registers import FIRST, LAST
from ..border.slots import give_slot_back
from ..codes import OWE_ACK
from ..layout import Header
from ..memory.send_buffers import buffered, free_staged
from ..rows import Channel, Send
from ..state import FRAMES, Stage, frames, nic
from .recovery import launch_numbered, send_numbered, take_buffer, untake_buffer, window_open

NO_BUFFER: Const[u32] = u32(1)  # of a stage without room for a body, which begins at an even address


@inline
def stamp(channel: Ptr[Channel], header: Ptr[Header]) -> None:
    """Fill in, as late as can be, what depends on the moment of leaving: the credit word, which
    pays any ACK owed."""
    given = channel.given
    header.credit = given
    channel.told = given
    channel.control &= ~OWE_ACK


@inline
def can_send() -> bool:
    """Does the send DMA's queue take a header and a body?"""
    return send_dma.free() >= 2


@inline
def can_control(channel: Ptr[Channel]) -> bool:
    """May the channel send a packet of control?"""
    return can_send() and (nic.recovery == 0 or window_open(channel))


@inline
def stage_free(channel: Ptr[Channel]) -> bool:
    """May the channel stage a packet?"""
    free = nic.stage_tail - nic.stage_head <= nic.stage_mask
    return free and (nic.recovery == 0 or ((buffered() or nic.spare_buffer != 0) and window_open(channel)))


@inline
def new_stage(channel: Ptr[Channel], kind: u32) -> Ptr[Stage]:
    """The next stage, with the header's type and addressee. `stage_free` must hold; `commit` ends
    filling it."""
    stage = nic.stages + (nic.stage_tail & nic.stage_mask)
    stage.channel = channel
    stage.send = null(Send)
    stage.length = 0
    stage.body = 0
    stage.ready = nic.hdma
    header = address_of(stage.header)
    header.type = kind
    header.flags = 0
    header.channel = channel.peer_channel
    if nic.recovery != 0:
        take_buffer(stage)
    if buffered():
        stage.buffer = NO_BUFFER
    return stage


@inline
def drop_stage(stage: Ptr[Stage]) -> None:
    """Nothing is to be sent after all: forget the stage got by `new_stage`."""
    if nic.recovery != 0:
        untake_buffer(stage)


@inline
def commit() -> None:
    """The stage got by `new_stage` is complete; send it at once if nothing is before it."""
    nic.stage_tail += 1
    launch_stages()


@inline
def copy_header(stage: Ptr[Stage]) -> None:
    """Put the header right before a body that lies in the stage's own room."""
    source = at(Ptr[u32], u32(stage))
    target = at(Ptr[u32], stage.buffer - sizeof(Header))
    for i in range(5):
        target[i] = source[i]
    target[5] = source[5]


@inline
def may_chase() -> bool:
    """May a packet leave whose body is not all here? Not behind one that is followed: see
    `following`."""
    return nic.watermark != 0 and host_dma.reached(nic.follow_until)


@firmware
def launch_stages() -> None:
    """Hand stages to the send DMA while their bodies are there and its queue takes them."""
    while nic.stage_launch != nic.stage_tail:
        stage = nic.stages + (nic.stage_launch & nic.stage_mask)
        if not can_send() or not (may_chase() or host_dma.reached(stage.ready)):
            return
        if nic.recovery != 0:
            if not launch_numbered(stage):
                return
            continue
        channel = stage.channel
        stamp(channel, address_of(stage.header))
        send_dma.route(channel.route)
        if stage.body == stage.buffer and nic.watermark != 0:  # the body may be on its way: the header goes before it
            send_dma.queue(u32(stage), sizeof(Header), nic.check)
            send_dma.queue(stage.body, stage.length, nic.chase)
            nic.sends += 2
            stage.done = nic.sends
            nic.stage_launch += 1
            continue
        if stage.body == stage.buffer:  # the header fits in front of the body: one descriptor
            copy_header(stage)
            send_dma.queue(stage.body - sizeof(Header), stage.length + sizeof(Header), FIRST | LAST)
            nic.sends += 1
            stage.done = nic.sends
            nic.stage_launch += 1
            continue
        send_dma.describe(u32(stage), sizeof(Header))
        if stage.length == 0:
            send_dma.start(FIRST | LAST)
            nic.sends += 1
        else:
            send_dma.start(FIRST)
            send_dma.queue(stage.body, stage.length, LAST)
            nic.sends += 2
        stage.done = nic.sends
        nic.stage_launch += 1


@firmware
def retire_stages() -> None:
    """Give back what packets that have left occupied."""
    while nic.stage_head != nic.stage_launch:
        stage = nic.stages + (nic.stage_head & nic.stage_mask)
        if not send_dma.reached(stage.done):
            return
        if stage.send:
            give_slot_back(stage.send)
        if buffered():
            free_staged(stage)
        nic.stage_head += 1


@inline
def new_frame(channel: Ptr[Channel], kind: u32) -> Ptr[Header]:
    """Room for a packet of control. There are more frames than the send DMA queues, so its turn
    comes after use."""
    frame = address_of(frames[nic.frame])
    nic.frame = (nic.frame + 1) & (FRAMES - 1)
    header = address_of(frame.header)
    header.type = kind
    header.flags = 0
    header.channel = channel.peer_channel
    return header


@inline
def send_frame(channel: Ptr[Channel], header: Ptr[Header]) -> None:
    """Send a packet of control; `can_control` must hold."""
    if nic.recovery != 0:
        send_numbered(channel, header)
        return
    stamp(channel, header)
    send_dma.queue_packet(channel.route, u32(header), sizeof(Header))
    nic.sends += 1
