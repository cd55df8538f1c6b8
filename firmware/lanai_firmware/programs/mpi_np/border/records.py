"""Records: how the host learns what became of its requests (NP-49), without looking at the NIC."""

from lanai_firmware.lang import Ptr, address_of, firmware, inline, offset_of, sizeof, u32

from ....nic import host_dma
from ....nic.registers import TO_HOST
from ..layout import Error, Kind, Record
from ..memory.hostdma import make_room
from ..rows import Channel, Endpoint, Receive
from ..state import RECORDS, nic, staged_records

SECOND_HALF = offset_of(Record, "tag")


@inline
def next_record() -> Ptr[Record]:
    """SRAM for one record. The queue of the host DMA is far shorter than this ring, so its turn
    comes after use."""
    number = nic.record
    nic.record = (number + 1) & (RECORDS - 1)
    return address_of(staged_records[number])


@inline
def deliver(endpoint: Ptr[Endpoint], record: Ptr[Record], skip: u32) -> None:
    """Number the record and queue it, without its first `skip` bytes, for the endpoint's ring in
    host memory."""
    sequence = endpoint.sequence
    record.sequence = sequence
    endpoint.sequence = sequence + 1
    number = nic.hdma + 1
    record.number = number
    place = endpoint.record
    make_room()
    host_dma.queue(place + skip, u32(record) + skip, sizeof(Record) - skip, TO_HOST)
    nic.hdma = number
    place += sizeof(Record)
    if place == endpoint.record_end:
        place = endpoint.record_ring
    endpoint.record = place


@inline
def finish_record(endpoint: Ptr[Endpoint], record: Ptr[Record], sequence: u32, number: u32) -> None:
    """Queue the second half of a record that is complete, its sequence number included, as host DMA
    number `number`, which `nic.hdma` says already. The host DMA's queue must have room."""
    endpoint.sequence = sequence + 1
    place = endpoint.record
    host_dma.queue(place + SECOND_HALF, u32(record) + SECOND_HALF, sizeof(Record) - SECOND_HALF, TO_HOST)
    record.number = number
    place += sizeof(Record)
    if place == endpoint.record_end:
        place = endpoint.record_ring
    endpoint.record = place


@firmware
def report(
    endpoint: Ptr[Endpoint],
    kind: u32,
    error: u32 = Error.OK,
    operation: u32 = 0,
    source: u32 = 0,
    tag: u32 = 0,
    length: u32 = 0,
) -> None:
    """Tell the host what became of `operation`."""
    record = next_record()
    record.tag = tag
    record.length = length
    record.source = source
    record.operation = operation
    record.kind = kind
    record.error = error
    deliver(endpoint, record, SECOND_HALF)


@inline
def report_received(channel: Ptr[Channel], receive: Ptr[Receive], tag: u32, length: u32) -> None:
    """Tell the host that `length` bytes of a message have been received."""
    if receive.error == Error.TRUNCATED:
        report_truncated(channel, receive, tag, length)
        return
    report(
        receive.endpoint,
        Kind.RECEIVED,
        error=receive.error,
        operation=receive.operation,
        source=channel.rank,
        tag=tag,
        length=length,
    )


@firmware(inline=False)
def report_truncated(channel: Ptr[Channel], receive: Ptr[Receive], tag: u32, length: u32) -> None:
    """The same for a truncated message. The record has its first half, with the message's length."""
    record = next_record()
    record.total = receive.total
    record.tag = tag
    record.length = length
    record.source = channel.rank
    record.operation = receive.operation
    record.kind = Kind.RECEIVED
    record.error = Error.TRUNCATED
    deliver(receive.endpoint, record, 0)


@firmware
def answer_probe(
    endpoint: Ptr[Endpoint], kind: u32, operation: u32, source: u32, tag: u32, length: u32, context: u32, token: u32
) -> None:
    """Tell the host what a probe found."""
    record = next_record()
    record.token = token
    record.context = context
    record.tag = tag
    record.length = length
    record.source = source
    record.operation = operation
    record.kind = kind
    record.error = Error.OK
    deliver(endpoint, record, 0)


@firmware
def refuse(endpoint: Ptr[Endpoint], operation: u32, error: u32) -> None:
    """Tell the host that a request made no sense."""
    nic.refused += 1
    report(endpoint, Kind.REFUSED, error=error, operation=operation)
