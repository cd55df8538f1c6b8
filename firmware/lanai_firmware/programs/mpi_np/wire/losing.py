"""A peer that does not answer: all that waits for it fails with PEER_FAILED, and what comes later
is refused at once.

Messages of its that are here stay, and may be received. The LOST record comes last, behind every
transfer to or from the host's memory that the channel had begun, so that the host may free what it
had lent.
"""

from lanai_firmware.lang import Ptr, address_of, firmware, null

from ..border.records import report
from ..border.slots import give_slot_back
from ..codes import JOB_FREE, JOB_SLOT, RECEIVE_FREE, RECEIVE_PULLING, SEND_PARKED
from ..layout import Error, Kind
from ..matching.matching import withdraw
from ..matching.searching import on_nack
from ..protocol.ready import make_ready
from ..rows import Channel, Endpoint, Receive, Send
from ..state import nic


@firmware
def lose(channel: Ptr[Channel]) -> None:
    """Give the peer at the other end up."""
    reliability = channel.reliability
    reliability.dead = 1
    reliability.acked = reliability.next
    reliability.again = reliability.next
    reliability.owed = 0
    endpoint = channel.endpoint
    endpoint.lost += 1
    fail_sends(channel)
    fail_receives(channel)
    report(endpoint, Kind.LOST, error=Error.PEER_FAILED, source=channel.rank)
    make_ready(channel)


@firmware
def fail_sends(channel: Ptr[Channel]) -> None:
    """Sends in the ring, answers under way, and bodies parked in request slots."""
    channel.control = 0
    channel.unpaid = null(Send)
    send = channel.first
    channel.first = null(Send)
    while send:
        following = send.next
        report(send.endpoint, Kind.REFUSED, error=Error.PEER_FAILED, operation=send.operation, source=channel.rank)
        give_slot_back(send)
        send = following
    for i in range(2):
        job = address_of(channel.jobs[i])
        if job.state == JOB_SLOT:
            give_slot_back(nic.sends_table + job.operation)
        job.state = JOB_FREE
    channel.jobs_active = 0
    for number in range(nic.send_count):
        send = nic.sends_table + number
        if send.state == SEND_PARKED and send.channel == channel:
            give_slot_back(send)


@firmware
def fail_receives(channel: Ptr[Channel]) -> None:
    """Receives that only this peer could meet, those from anyone, and those whose body was to come;
    promises are worth nothing now."""
    anchor = address_of(channel.expected)
    while anchor.next != anchor:
        receive = anchor.next.receive
        withdraw(receive)
        fail_receive(channel, receive)
    endpoint = channel.endpoint
    for index in range(nic.receives_per_endpoint):
        receive = endpoint.receives + index
        if receive.state == RECEIVE_PULLING and receive.channel == channel:
            fail_receive(channel, receive)
    channel.first_pull = null(Receive)
    if channel.asking:
        on_nack(channel)
    channel.pulls = 0


@firmware
def fail_receive(channel: Ptr[Channel], receive: Ptr[Receive]) -> None:
    receive.state = RECEIVE_FREE
    report(receive.endpoint, Kind.RECEIVED, error=Error.PEER_FAILED, operation=receive.operation, source=channel.rank)


@firmware
def sender_lost(endpoint: Ptr[Endpoint], channel: Ptr[Channel]) -> bool:
    """Has every rank that could send a message for this receive been lost? `channel` is null for a
    receive from any source, which fails as soon as one rank is lost."""
    if nic.recovery == 0 or endpoint.lost == 0:
        return False
    return not channel or channel.reliability.dead != 0
