"""Host DMA that failed: which message it belonged to, and how that message ends.

Every descriptor of this firmware has STOP: the engine stops behind one that failed, which
does not count as done until it is resumed. Its last byte in SRAM shows which message it belonged to. The
record that ends the message is still to be written, and takes the error from the receive or the job.
Or it is in SRAM, queued behind, and is changed there. Either way no operation is reported as done that
is not.

Nothing here queues a transfer, as this runs wherever the firmware waits for the host DMA.
"""

from lanai_firmware.lang import Ptr, address_of, at, firmware, i32, null, sizeof, u32

from ....nic import host_dma
from ..codes import JOB_FREE, JOB_MOVING, JOB_OWN, RECEIVE_PULLING
from ..layout import BLOCK, FLAG_FAILED, PACKET_BODY, Error, Header, Kind, PageEntry, Record, Type
from ..rows import Channel, Receive
from ..state import RECORDS, Stage, nic, plan, staged_records
from .send_buffers import buffered, lose_ahead


@firmware(inline=False)
def resume() -> None:
    """Mark the message concerned as failed if the host DMA has stopped, and let the engine go
    on."""
    if not host_dma.stopped():
        return
    nic.dma_errors += 1
    blame(host_dma.done() + 1, host_dma.last_byte())
    host_dma.resume()


@firmware
def blame(number: u32, last: u32) -> None:
    """Descriptor `number`, whose last byte in SRAM is `last`, has failed."""
    for i in range(nic.buffer_mask + 1):
        buffer = nic.buffers + i
        if buffer.start <= last and last < buffer.limit:
            fail_packet(number, at(Ptr[Header], buffer.start))
            return
    for i in range(nic.stage_mask + 1):  # one that has just left may still be the one concerned
        stage = nic.stages + ((nic.stage_head + i) & nic.stage_mask)
        if buffered():  # rooms are used again: the transfer tells whose this one was
            if last - stage.buffer < stage.length and stage.ready - number < 2:
                fail_stage(number, stage)
                return
        elif stage.buffer <= last and last < stage.buffer + PACKET_BODY:
            fail_stage(number, stage)
            return
    if buffered() and lose_ahead(last):
        fail_kept(number)
        return
    if last >= plan.block_table and last < plan.block_table + plan.blocks_per_channel * shares() * BLOCK:
        fail_kept(number)
    elif is_in(last, plan.receive_table, nic.receive_count * sizeof(Receive)) or is_in(
        last, plan.channel_table, nic.channel_count * sizeof(Channel)
    ):
        clear_entry(at(Ptr[u32], last + 1 - sizeof(PageEntry)))


@firmware
def shares() -> u32:
    """Return how many endpoints share the heap."""
    return plan.pools if plan.pools != 0 else plan.channels


@firmware
def is_in(place: u32, start: u32, size: u32) -> bool:
    return place - start < size


@firmware
def fail_packet(number: u32, header: Ptr[Header]) -> None:
    """A body in the common receive buffer did not reach the host."""
    if number - nic.follow_from <= nic.follow_until - nic.follow_from:
        if nic.followed != 0:
            nic.followed_receive.error = Error.BUS
            return
        if header.type != Type.ANSWER:
            fail_record(nic.follow_record)
            return
    if header.type != Type.ANSWER:
        fail_kept(number)
        return
    if header.tag >= nic.receive_count:
        return
    receive = nic.receives + header.tag
    if receive.state == RECEIVE_PULLING:
        receive.error = Error.BUS
    else:
        fail_record(receive.record)


@firmware
def fail_kept(number: u32) -> None:
    """Part of a body that goes to the host in one go failed: its record is the next one, or is
    about to be written."""
    nearest = null(Record)
    distance = u32(RECORDS)
    for i in range(RECORDS):
        record = address_of(staged_records[i])
        if record.number - number - 1 < distance:
            distance = record.number - number - 1
            nearest = record
    if nearest:
        nearest.error = Error.BUS
    elif nic.taking:
        nic.taking.error = Error.BUS


@firmware
def fail_stage(number: u32, stage: Ptr[Stage]) -> None:
    """A body could not be read from the host. The packet goes all the same, as its envelope counts.
    The other end learns of it by the flag or, if the header has left, by the CRC that the hardware spoils."""
    header = address_of(stage.header)
    lose_body(header)
    channel = stage.channel
    if header.type == Type.ANSWER:
        fail_job(number, channel, header.tag)
    elif header.type == Type.EAGER_LOST:
        fail_kept(number)
    else:
        channel.unpaid_error = Error.BUS


@firmware
def lose_body(header: Ptr[Header]) -> None:
    """The packet's body is not sound: its header now says so to the code that takes it."""
    if header.type == Type.EAGER:
        header.type = Type.EAGER_LOST
    elif header.type == Type.EAGER_UNPAID:
        header.type = Type.UNPAID_LOST
    elif header.type == Type.ANSWER:
        header.flags |= FLAG_FAILED


@firmware
def fail_job(number: u32, channel: Ptr[Channel], receive: u32) -> None:
    """The same for part of an answer."""
    for i in range(2):
        job = address_of(channel.jobs[i])
        if job.receive == receive:
            if job.state == JOB_MOVING or job.state == JOB_OWN:
                job.failed = Error.BUS
            elif job.state == JOB_FREE and i32(job.record - number) > 0:
                fail_sent(job.record)


@firmware
def fail_record(number: u32) -> None:
    """Note the failure in the record that descriptor `number` will write."""
    for i in range(RECORDS):
        record = address_of(staged_records[i])
        if record.number == number:
            record.error = Error.BUS


@firmware
def fail_sent(number: u32) -> None:
    """The same where the record is that of a send, or of both ends of a message to oneself."""
    for i in range(RECORDS):
        record = address_of(staged_records[i])
        if record.number == number:
            if record.kind == Kind.RECEIVED_OWN:
                record.context = Error.BUS
            else:
                record.error = Error.BUS


@firmware
def clear_entry(words: Ptr[u32]) -> None:
    """A page entry that did not come says nothing: the message ends as one whose entry is wrong."""
    for i in range(sizeof(PageEntry) >> 2):
        words[i] = 0
