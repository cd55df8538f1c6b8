"""Short sends, from the request to the link in one go: what most messages take (NP-20, NP-41).

Like `requests` this reads a `Request`, which the host may change at any time: each member once.
"""

from lanai_firmware.lang import Ptr, address_of, at, barrier, inline, offset_of, sizeof, u32

from ....nic import send_dma
from ....nic.registers import FIRST, LAST
from ..codes import OWE_ACK, SEND_LEAVING
from ..layout import SLOTS, Header, Op, Request
from ..rows import Endpoint, Send
from ..state import nic
from ..wire.credit import blocks_for
from .sending import slot_body


@inline
def live_request(send: Ptr[Send]) -> Ptr[Request]:
    """The request in a slot, as the host can write it at any moment."""
    return at(Ptr[Request], send.tail - offset_of(Request, "tag"))


@inline
def send_short(endpoint: Ptr[Endpoint]) -> bool:
    """The common case, without a detour: a short body in the next request, credit, and nothing
    before it. False if it is not so."""
    send = endpoint.poll
    request = live_request(send)
    barrier()
    command = request.command
    if (command >> 24) != Op.SEND_INLINE:
        return False  # most requests are receives
    barrier()  # what follows is read only now
    length = request.length
    peer = u32(request.peer)
    if length > nic.short_limit:
        return False
    if peer >= nic.ranks:
        return False
    channel = endpoint.channels + peer
    tail = nic.stage_tail
    # What must be zero is or-ed together: on the Lanai a test costs as much as three such
    # operations.
    if u32(channel.first) | (tail ^ nic.stage_launch) | send.state != 0:
        return False
    blocks = blocks_for(length)
    block_credit = channel.block_credit
    if block_credit < blocks:
        return False
    slot_credit = channel.slot_credit
    if slot_credit == 0:
        return False
    if tail - nic.stage_head >= nic.short_stages:
        return False
    if send_dma.free() < 2:
        return False
    stage = nic.stages + (tail & nic.stage_mask)
    header = address_of(stage.header)
    at(Ptr[u32], u32(header))[0] = channel.eager_word
    given = channel.given
    header.credit = given
    header.tag = request.tag
    header.length = length
    header.context = request.context
    sequence = channel.sequence
    header.sequence = sequence
    send_dma.route(channel.route)
    send_dma.describe(u32(header), sizeof(Header))
    sends = nic.sends + 1
    if length == 0:
        send_dma.start(FIRST | LAST)
    else:
        send_dma.start(FIRST)
        send_dma.queue(slot_body(send, length), length, LAST)
        sends += 1
    nic.sends = sends
    stage.done = sends
    stage.send = send
    nic.stage_tail = tail + 1
    nic.stage_launch = tail + 1
    request.command = 0
    endpoint.poll = endpoint.sends + ((command >> 16) & (SLOTS - 1))
    send.state = SEND_LEAVING
    channel.told = given
    channel.control &= ~OWE_ACK
    channel.sequence = sequence + 1
    channel.slot_credit = slot_credit - 1
    channel.block_credit = block_credit - blocks
    return True
