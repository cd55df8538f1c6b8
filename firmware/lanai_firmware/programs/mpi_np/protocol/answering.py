"""Bringing a body that was asked for: the sender's half of a rendezvous (NP-21, NP-38, NP-39,
NP-51).

A SEND_REQ becomes a job of its channel. A job brings the message's page entry, then stages piece
after piece: while one page crosses the wire the next comes from the host, and jobs of other
channels take their turns (NP-52). The job ends with the last download queued; the record for the
host is queued behind it, so it says that the buffer is free exactly when it is. A rank that sends
to itself reads of both ends at once, when its receive is done (NP-29).
"""

from lanai_firmware.lang import Ptr, address_of, firmware, inline, u32

from ....nic import host_dma
from ..border.records import deliver, next_record, report
from ..codes import JOB_FETCHING, JOB_FREE, JOB_MOVING, JOB_OWN, JOB_SLOT, SEND_LEAVING, SEND_PARKED
from ..layout import FLAG_FAILED, FLAG_LAST, IN_SLOT, PACKET_BODY, Error, Header, Kind, Type
from ..memory.cursor import fetch, next_piece, open_piece, take
from ..memory.failing import lose_body, resume
from ..memory.hostdma import bring
from ..memory.send_buffers import ahead_is_here, buffered, is_lost, part_fits, stage_part
from ..rows import Channel, Job, Receive
from ..state import nic
from ..wire.outgoing import commit, new_stage, stage_free
from .pieces import is_announced, withdraw_entry
from .ready import make_ready
from .sending import body_of


@firmware
def on_send_req(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """A SEND_REQ has come: make it a job. False if it asks for nothing that was announced, for what it
    has asked for before, or for too much at once."""
    resume()  # the last transfer of an ended job may have failed, which its entry must still be there to hear
    job = address_of(channel.jobs[0])
    other = address_of(channel.jobs[1])
    if job.state != JOB_FREE:
        other = job
        job = address_of(channel.jobs[1])
        if job.state != JOB_FREE:
            return False
    handle = header.handle
    job.handle = handle
    job.receive = header.tag
    job.left = header.length
    job.offset = 0
    if (handle & IN_SLOT) != 0:
        number = handle & ~IN_SLOT
        if number >= nic.send_count:
            return False
        send = nic.sends_table + number
        if send.state != SEND_PARKED or send.channel != channel or header.length > send.length:
            return False
        send.state = SEND_LEAVING
        job.operation = number
        job.state = JOB_SLOT
    else:
        if not is_announced(channel.endpoint, handle) or (other.state != JOB_FREE and other.handle == handle):
            return False
        cursor = address_of(job.cursor)
        cursor.side = 1
        fetch(channel.endpoint, cursor, handle)
        job.state = JOB_FETCHING
    channel.jobs_active += 1
    make_ready(channel)
    return True


@firmware
def serve_jobs(channel: Ptr[Channel]) -> u32:
    """Let each job of the channel stage what the host DMA's queue takes; how many packets that
    was."""
    done = u32(0)
    for i in range(2):
        job = address_of(channel.jobs[i])
        state = job.state
        if state == JOB_FETCHING and host_dma.reached(job.cursor.fetched):
            begin(channel, job)
            done += 1
        elif state == JOB_MOVING:
            while job.state == JOB_MOVING and stage_free(channel) and host_dma.free() >= 2:
                if buffered() and not part_fits(channel, job.left):
                    break
                step(channel, job)
                done += 1
        elif state == JOB_SLOT and stage_free(channel) and (not buffered() or ahead_is_here(channel)):
            answer_from_slot(channel, job)
            done += 1
    return done


@firmware
def begin(channel: Ptr[Channel], job: Ptr[Job]) -> None:
    """The first page entry is here. It was the host's to fill: the entry must be of a send to this
    channel's rank, and fit what was asked, else the answer fails.

    What another rank was promised is not this peer's to end: then no send is reported. What was promised
    to this one has been asked for now. Until here the job kept others from asking too.
    """
    cursor = address_of(job.cursor)
    cursor.side = 0
    entry = address_of(cursor.entries[0])
    job.operation = u32(entry.operation)
    job.total = entry.total
    if entry.peer == channel.rank:
        withdraw_entry(channel.endpoint, job.handle)
    else:
        job.operation = 0
        job.left = 0
        job.failed = Error.BAD_ADDRESS
    if job.left > entry.total:
        job.left = 0
        job.failed = Error.BAD_ADDRESS
    if job.left != 0:
        fetch(channel.endpoint, cursor, entry.next)
        open_piece(channel.endpoint, cursor, 0)
    job.state = JOB_MOVING


@firmware
def step(channel: Ptr[Channel], job: Ptr[Job]) -> None:
    """Stage the next packet: what is left of the current piece, so packets end where pages do."""
    stage = new_stage(channel, Type.ANSWER)
    header = address_of(stage.header)
    header.tag = job.receive
    header.handle = job.offset
    header.length = 0
    cursor = address_of(job.cursor)
    left = job.left
    if left != 0:
        if cursor.left == 0 and not next_piece(channel.endpoint, cursor):
            job.failed = Error.BAD_ADDRESS
            left = u32(0)
        else:
            part = cursor.left if cursor.left < left else left
            if part > PACKET_BODY:
                part = PACKET_BODY
            if buffered():
                part = stage_part(stage, part)
            bring(stage.buffer, cursor.address, part)
            take(cursor, part)
            left -= part
            header.length = part
            job.offset += part
            stage.length = part
            stage.body = stage.buffer
            stage.ready = nic.hdma
    job.left = left
    if left == 0:
        header.flags = FLAG_LAST if job.failed == 0 else FLAG_LAST | FLAG_FAILED
        finish_job(channel, job)
    commit()


@inline
def finish_job(channel: Ptr[Channel], job: Ptr[Job]) -> None:
    """All of the body is on its way, or what can be brought of it."""
    error = job.failed
    end(channel, job)
    if channel.rank == channel.endpoint.rank:
        job.state = JOB_OWN
        job.failed = error
    elif job.operation != 0:
        report(channel.endpoint, Kind.SENT, error=error, operation=job.operation, source=channel.rank, length=job.total)
        job.record = nic.hdma


@firmware
def answer_from_slot(channel: Ptr[Channel], job: Ptr[Job]) -> None:
    """One packet brings a body that the host wrote into a request slot; the slot is free once it
    has left."""
    send = nic.sends_table + job.operation
    stage = new_stage(channel, Type.ANSWER)
    header = address_of(stage.header)
    header.tag = job.receive
    header.handle = 0
    header.length = job.left
    header.flags = FLAG_LAST
    if buffered() and is_lost(send):
        lose_body(header)
    stage.body = body_of(send, send.length)
    stage.length = job.left
    stage.send = send
    end(channel, job)
    commit()


@firmware
def own_received(channel: Ptr[Channel], receive: Ptr[Receive]) -> bool:
    """A rank has received what it sent to itself: one record reports both. False if the send was
    done before, as its body was in its slot."""
    for i in range(2):
        job = address_of(channel.jobs[i])
        if job.state == JOB_OWN and job.receive == receive.number:
            record = next_record()
            record.token = job.operation
            record.total = receive.total
            record.context = job.failed
            record.tag = receive.posted.tag
            record.length = receive.arrived
            record.source = channel.rank
            record.operation = receive.operation
            record.kind = Kind.RECEIVED_OWN
            record.error = receive.error
            deliver(channel.endpoint, record, 0)
            job.record = nic.hdma
            job.failed = 0
            job.state = JOB_FREE
            return True
    return False


@firmware
def end(channel: Ptr[Channel], job: Ptr[Job]) -> None:
    job.state = JOB_FREE
    job.failed = 0
    channel.jobs_active -= 1
