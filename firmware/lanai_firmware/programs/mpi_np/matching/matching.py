"""Matching on the NIC (NP-09, NP-31..NP-37): context (NP-G7) and tag, within a channel, in order.

Two lists a channel: `expected` holds receives that no message has met, in post order; `unclaimed`
holds messages that no receive has met, in order of arrival. Both are rings with an anchor in the
channel, so that leaving needs no search. An ANY_SOURCE receive has a copy in the expected list of
each channel of its endpoint; the copies hang together in a chain.
"""

from lanai_firmware.lang import Ptr, address_of, firmware, inline, null, u32

from ..memory.pools import restore
from ..rows import Channel, Endpoint, Message, Posted, Receive
from ..state import nic


@inline
def key_of(context: u32, tag: u32) -> u32:
    """Return the word that is compared first."""
    return (context << 16) | (tag & 0xFFFF)


@inline
def care_of(mask: u32) -> u32:
    """The bits of a key that count under a mask for the tag."""
    return mask | 0xFFFF0000


@inline
def describe(node: Ptr[Posted], context: u32, tag: u32, mask: u32, receive: Ptr[Receive]) -> None:
    """Fill in what an entry of an expected list takes, and for whom."""
    node.key = key_of(context, tag)
    node.tag = tag
    node.mask = mask
    node.care = care_of(mask)
    node.receive = receive


@firmware
def find_expected(channel: Ptr[Channel], context: u32, tag: u32) -> Ptr[Posted]:
    """The oldest receive that takes such a message, or null. The anchor is made to take it, so the
    loop needs no test for the end."""
    anchor = address_of(channel.expected)
    key = key_of(context, tag)
    anchor.care = 0
    anchor.mask = 0
    node = anchor
    while True:
        node = node.next
        if ((node.key ^ key) & node.care) == 0 and ((node.tag ^ tag) & node.mask) == 0:
            return node if node != anchor else null(Posted)


@firmware
def find_unclaimed(channel: Ptr[Channel], context: u32, tag: u32, mask: u32) -> Ptr[Message]:
    """The oldest message that such a receive takes, or null. The anchor is made to fit, as
    above."""
    anchor = address_of(channel.unclaimed)
    key = key_of(context, tag)
    care = care_of(mask)
    anchor.key = key
    anchor.tag = tag
    node = anchor
    while True:
        node = node.next
        if ((node.key ^ key) & care) == 0 and ((node.tag ^ tag) & mask) == 0:
            if node != anchor:
                return node
            if channel.evicted == 0 or channel.waiting == 0:
                return null(Message)
            restore(channel)  # its messages were evicted: look again


@firmware
def find_anywhere(endpoint: Ptr[Endpoint], context: u32, tag: u32, mask: u32) -> Ptr[Channel]:
    """The first channel with a message for such an ANY_SOURCE receive; the search begins elsewhere
    each time (NP-35)."""
    start = endpoint.rotation
    rank = start
    for _ in range(nic.ranks):
        channel = endpoint.channels + rank
        if channel.waiting != 0 and find_unclaimed(channel, context, tag, mask):
            rank += 1
            endpoint.rotation = rank if rank < nic.ranks else u32(0)
            return channel
        rank += 1
        if rank == nic.ranks:
            rank = u32(0)
    return null(Channel)


@firmware
def next_waiting(endpoint: Ptr[Endpoint]) -> Ptr[Channel]:
    """The first channel with any message; the search begins behind the one found last (NP-35). Null
    if there is none."""
    rank = endpoint.rotation
    for _ in range(nic.ranks):
        channel = endpoint.channels + rank
        rank += 1
        if rank == nic.ranks:
            rank = u32(0)
        if channel.waiting != 0:
            endpoint.rotation = rank
            return channel
    return null(Channel)


@inline
def unlink_posted(node: Ptr[Posted]) -> None:
    before = node.previous
    after = node.next
    before.next = after
    after.previous = before


@inline
def unlink_message(node: Ptr[Message]) -> None:
    before = node.previous
    after = node.next
    before.next = after
    after.previous = before


@inline
def append_posted(channel: Ptr[Channel], node: Ptr[Posted]) -> None:
    anchor = address_of(channel.expected)
    last = anchor.previous
    node.next = anchor
    node.previous = last
    last.next = node
    anchor.previous = node


@inline
def append_message(channel: Ptr[Channel], node: Ptr[Message]) -> None:
    anchor = address_of(channel.unclaimed)
    last = anchor.previous
    node.next = anchor
    node.previous = last
    last.next = node
    anchor.previous = node


@firmware
def withdraw(receive: Ptr[Receive]) -> None:
    """Take a posted receive, with all its copies, out of the expected lists."""
    node = receive.chained
    if not node:
        unlink_posted(address_of(receive.posted))
        return
    endpoint = receive.endpoint
    while node:
        unlink_posted(node)
        following = node.chain
        node.chain = endpoint.copy_free
        endpoint.copy_free = node
        node = following
    receive.chained = null(Posted)


@firmware
def spread(endpoint: Ptr[Endpoint], receive: Ptr[Receive], context: u32, tag: u32, mask: u32) -> bool:
    """Post copies of an ANY_SOURCE receive in every channel of the endpoint; no sender is
    asked (NP-G1). False if its copies are used up."""
    spare = endpoint.copy_free
    for _ in range(nic.ranks):
        if not spare:
            return False
        spare = spare.chain
    first = null(Posted)
    for rank in range(nic.ranks):
        node = endpoint.copy_free
        endpoint.copy_free = node.chain
        describe(node, context, tag, mask, receive)
        node.chain = first
        first = node
        append_posted(endpoint.channels + rank, node)
    receive.chained = first
    return True
