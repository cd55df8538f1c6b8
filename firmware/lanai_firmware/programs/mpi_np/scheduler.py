"""The turn: what the processor does next, and when it may sleep (NP-10, NP-11).

A turn drains the wire first (NP-19), then takes a request, then attends to progress or the timer,
even if ranks never stop ringing, then moves what waits for DMA engines, then serves one channel of
the ready ring. With nothing pending the processor waits for a packet or a doorbell only; with
something pending that cannot go on, for the DMA engines as well. Sticky events are cleared before
looking, so that none is slept through.
"""

from lanai_firmware.lang import Ptr, firmware, inline, u32

from ...nic import events
from ...nic.registers import (
    EVENT_DOORBELL,
    EVENT_HDMA,
    EVENT_HDMA_ERROR,
    EVENT_PROGRESS,
    EVENT_RECV,
    EVENT_SEND,
    EVENT_TIMER,
)
from .border.requests import take_requests
from .codes import OWE_ACK, OWE_DROPPED, OWE_GAP, OWE_NACK, OWE_SEARCH, OWE_SEEN, OWE_TAKEN, PULLS
from .layout import Type
from .matching.searching import send_search_req
from .memory.failing import resume
from .protocol.answering import serve_jobs
from .protocol.pulling import send_send_req
from .protocol.ready import make_ready, next_ready
from .protocol.releasing import release_read
from .protocol.sending import BLOCKED, LEFT, serve_sends
from .rows import Channel
from .state import nic
from .wire.buffers import post_buffers
from .wire.following import follow
from .wire.in_order import send_seen
from .wire.incoming import receive_packet
from .wire.losing import lose
from .wire.outgoing import can_control, can_send, launch_stages, new_frame, retire_stages, send_frame
from .wire.recovery import release_and_resend, timed_out

IDLE_MASK = int(EVENT_RECV | EVENT_DOORBELL | EVENT_PROGRESS | EVENT_TIMER | EVENT_HDMA_ERROR)
BUSY_MASK = int(EVENT_RECV | EVENT_DOORBELL | EVENT_HDMA | EVENT_SEND | EVENT_PROGRESS | EVENT_TIMER | EVENT_HDMA_ERROR)


@firmware
def turn() -> None:
    """One turn; ends waiting if there was nothing to do."""
    happened = events.pending()
    if (happened & EVENT_RECV) != 0 and receive_packet():
        nic.idle_turns = 0
        happened = events.pending()
    if (happened & EVENT_DOORBELL) != 0:
        take_requests()
        nic.idle_turns = 0
    if (happened & (EVENT_PROGRESS | EVENT_TIMER | EVENT_HDMA_ERROR)) != 0:
        if (happened & EVENT_PROGRESS) != 0:
            follow()
        elif (happened & EVENT_TIMER) != 0:
            tick()
        else:
            resume()
        nic.idle_turns = 0
    if not pending():
        events.wait(IDLE_MASK)
        return
    if nic.idle_turns == 0:
        events.clear(EVENT_HDMA | EVENT_SEND)
    nic.idle_turns += 1
    if nic.stage_launch != nic.stage_tail:
        launch_stages()
    if nic.stage_head != nic.stage_launch:
        retire_stages()
    if nic.leaving_first:
        release_read()
    if nic.buffers_posted != nic.buffers_due:
        post_buffers()
    if nic.ready_first and serve(next_ready()):
        nic.idle_turns = 0
    if nic.idle_turns != 0 and nic.idle_turns >= nic.ready_count:
        nic.idle_turns = 0
        events.wait(BUSY_MASK)


@inline
def pending() -> bool:
    """Is there anything that does not begin with a packet or a doorbell?"""
    waiting = u32(nic.ready_first) | u32(nic.leaving_first) | (nic.stage_head ^ nic.stage_tail)
    return (waiting | (nic.buffers_posted ^ nic.buffers_due)) != 0


@firmware(inline=False)
def tick() -> None:
    """The timer of recovery: what is owed is acknowledged, what was not is sent again, and who
    never answers is given up."""
    events.clear(EVENT_TIMER)
    nic.armed = 0
    nic.ticks += 1
    for number in range(nic.channel_count):
        channel = nic.channels + number
        if timed_out(channel):
            lose(channel)


@firmware
def send_control(channel: Ptr[Channel]) -> bool:
    """Send one packet of control that the channel owes. False if none was sent."""
    owed = channel.control
    if (owed & (OWE_SEEN | OWE_GAP)) != 0:
        send_seen(channel)
    elif not can_control(channel):
        return False
    elif (owed & OWE_TAKEN) != 0:
        channel.control = owed & ~OWE_TAKEN
        send_frame(channel, new_frame(channel, Type.TAKEN))
    elif (owed & OWE_DROPPED) != 0:
        channel.control = owed & ~OWE_DROPPED
        header = new_frame(channel, Type.DROPPED)
        header.length = channel.dropped_length
        send_frame(channel, header)
    elif (owed & OWE_ACK) != 0:
        send_frame(channel, new_frame(channel, Type.ACK))
    elif (owed & OWE_SEARCH) != 0:
        send_search_req(channel)
    elif (owed & OWE_NACK) != 0:
        channel.control = owed & ~OWE_NACK
        send_frame(channel, new_frame(channel, Type.NACK))
    else:
        return False
    return True


@firmware
def serve(channel: Ptr[Channel]) -> bool:
    """Give a channel its turn; it goes to the back of the ring if it could do more. False if it did
    nothing."""
    done = False
    more = nic.recovery != 0 and not release_and_resend(channel)
    if channel.jobs_active != 0:
        done = serve_jobs(channel) != 0
        if u32(channel.first_pull) | u32(channel.first) | channel.control == 0:
            if more or channel.jobs_active != 0:
                back_in_line(channel)
            return done
    if channel.first_pull and channel.pulls < PULLS and can_control(channel):
        done = send_send_req(channel)
    if channel.control != 0 and can_send():
        done = send_control(channel)
    outcome = serve_sends(channel)
    if outcome == LEFT:
        done = True
    if outcome != BLOCKED or channel.control != 0 or channel.jobs_active != 0:
        more = True
    if channel.first_pull and channel.pulls < PULLS:
        more = True
    if more:
        back_in_line(channel)
    return done


@inline
def back_in_line(channel: Ptr[Channel]) -> None:
    """To the back of the ring; unlike `make_ready`, no news for the scheduler."""
    idle_turns = nic.idle_turns
    make_ready(channel)
    nic.idle_turns = idle_turns
