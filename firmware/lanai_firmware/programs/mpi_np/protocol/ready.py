"""The ready ring: channels with something to send, each at most once, served in turn (NP-10,
NP-11)."""

from lanai_firmware.lang import Ptr, firmware, null

from ..rows import Channel
from ..state import nic


@firmware
def make_ready(channel: Ptr[Channel]) -> None:
    """Put the channel at the back of the ring unless it is in it. The scheduler looks at it afresh
    either way."""
    nic.idle_turns = 0
    if channel.ready != 0:
        return
    channel.ready = 1
    channel.ready_next = null(Channel)
    if nic.ready_first:
        nic.ready_last.ready_next = channel
    else:
        nic.ready_first = channel
    nic.ready_last = channel
    nic.ready_count += 1


@firmware
def next_ready() -> Ptr[Channel]:
    """Take the channel at the front out of the ring; there must be one."""
    channel = nic.ready_first
    nic.ready_first = channel.ready_next
    channel.ready = 0
    nic.ready_count -= 1
    return channel
