"""Structures that cross the border between host, NIC and wire: requests, page entries, records, packets, the
boot plan.

Declared once. The firmware uses these structs in place, the driver packs and unpacks through them,
traces decode with them. `LAYOUT_VERSION` changes whenever a size, an offset or a meaning does;
driver and firmware compare it at boot.
"""

from enum import IntEnum

from lanai_firmware.lang import Array, Const, Struct, sizeof, u8, u16, u32

LAYOUT_VERSION: Const[u32] = u32(13)
LAYOUT_MAGIC: Const[u32] = u32(0x4E500000)  # "NP": upper half of Plan.magic, and of READY in SCRATCH0

PAGE: Const[u32] = u32(4096)
PACKET_BODY: Const[u32] = u32(4096)  # most bytes of a message in one packet: packets are cut at pages (NP-51)
HEADER_ROOM: Const[u32] = u32(32)  # before each body that the firmware brings into SRAM, for the packet's header
FOLLOW_FROM: Const[u32] = u32(512)  # bytes of a body that have come before it is worth following
ROOM_UNIT: Const[u32] = u32(64)  # a send buffer has a multiple of this
BLOCK: Const[u32] = u32(128)  # a fragment of the receive heap (NP-40); byte credit is counted in these
SLOTS: Const[u32] = u32(32)  # requests an endpoint may have in the NIC: one bit each in Region.freed
MOST_ENTRIES: Const[u32] = u32(16384)  # of an endpoint's page table: one bit each in SRAM
ANY: Const[u32] = u32(0xFFFF)  # Request.peer of an ANY_SOURCE receive or probe
NO_TAG: Const[u32] = u32(0xFFFFFFFF)  # Request.tag of an ANY_TAG receive or probe
IN_SLOT: Const[u32] = u32(0x80000000)  # bit of a handle: the body waits in a request slot, not behind a page entry


class Op(IntEnum):
    """Request.command, upper byte. 0: the slot holds no request."""

    NONE = 0
    SEND_INLINE = 1  # the body lies before the request in its slot, written by the processor (NP-41)
    SEND = 2  # the body is described by pieces and page entries
    SEND_SYNC = 3  # like SEND, and done only when the message has been matched (NP-29)
    RECEIVE = 4  # token is the index of the receive entry to use
    RECEIVE_TAKEN = 5  # ... and spare the message slot of a message that PROBE_TAKE took
    RECEIVE_PULL = 6  # ... and spare the handle of a message without body that PROBE_TAKE took
    PROBE = 7
    PROBE_TAKE = 8  # a matched probe: the message leaves the NIC's lists
    CANCEL = 9  # token is the index of the receive entry
    # like PROBE_TAKE for the oldest message of `peer` (or of anyone), whatever its tag and context,
    # answered as operation
    DRAIN = 10
    # `spare`; a body that is here goes to the receive entry `token` at once, and ends as this
    # operation
    RECEIVE_ASK = 11  # like RECEIVE, and asks `peer` for a message not yet announced (NP-22)


class Kind(IntEnum):
    """Record.kind: the thing that happened."""

    NONE = 0
    SENT = 1  # the send's buffer is the program's again
    RECEIVED = 2
    FOUND = 3  # answer to a probe; FOUND_PULL: the message is a promise, token its handle
    FOUND_PULL = 4
    MISSING = 5  # answer to a probe that found nothing; the next arrival is announced
    ARRIVED = 6  # an announcement: something unexpected came from `source`
    CANCELLED = 7
    NOT_CANCELLED = 8
    ROOM = 9  # an answer to Region.alarm: request slots were given back
    REFUSED = 10  # the request was malformed: `error` says how
    LOST = 11  # the rank `source` does not answer: nothing will come from it or reach it any more
    RECEIVED_OWN = (
        12  # RECEIVED; and the send of this rank that it met is done: operation `token`, error `context` (NP-29)
    )


class Error(IntEnum):
    """Record.error."""

    OK = 0
    TRUNCATED = 1
    BAD_PEER = 2
    BAD_LENGTH = 3
    BAD_ADDRESS = 4  # host memory outside the endpoint's window, or a page entry for an unmapped page
    BAD_INDEX = 5
    BAD_OP = 6
    PEER_FAILED = 7
    BUS = 8  # the host's memory could not be read or written
    DAMAGED = 9  # the sender's memory could not be read, or the body was damaged on its way


class Piece(Struct):
    """A run of host memory within one page."""

    address: u32
    length: u32


class PageEntry(Struct):
    """Up to four pages of a message (NP-45), in the endpoint's table in host memory (NP-44).

    Pieces are used in order up to the first of length 0; then follows the entry with index `next`,
    if that is not 0. `total`, `operation` and `peer` count in the first entry of a send only: a send
    that waits for its receiver needs nothing else. The body goes to no rank but `peer`, so all other
    entries have ANY there, free ones too. It goes once: an entry that was asked for must be announced
    again.
    """

    pieces: Array[Piece, 4]
    next: u32
    total: u32
    operation: u16
    peer: u16
    used: u32  # the host writes 0; nonzero once the firmware has used the entry, with `mark_entries`


class Request(Struct):
    """One request, at the end of its slot; an inline body lies right before the first word in use.

    The host writes upwards and `command` last: operation code << 24 | next slot << 16 | operation.
    `next slot` names the slot in which the host will place its next request. Inline sends use the
    last four words only.
    """

    pieces: Array[Piece, 2]  # the first pages, so that short messages need no page entry (NP-47)
    table: u32  # index of the page entry with the rest, or 0. SEND: an entry that describes all of the message
    token: u32
    spare: u32
    limit: u32
    tag: u32
    length: u32
    context: u16
    peer: u16
    command: u32


REQUEST_TAIL: Const[u32] = u32(16)  # bytes from Request.tag to its end


class Region(Struct):
    """The head of an endpoint's area in SRAM; request slots follow it."""

    freed: u32  # bit s flips whenever slot s is given back
    alarm: u32  # host writes nonzero: announce the next slot given back by a ROOM record
    spare: Array[u32, 14]


class Record(Struct):
    """A report of the NIC to the host, in a ring in host memory.

    The NIC writes the second half only, except in answers to probes, in RECEIVED_OWN and in the
    record of a truncated message.

    `sequence` counts records from 1, modulo 2**16, and is written last: the record is there once it
    is the expected one.
    """

    token: u32
    context: u16
    spare: u16
    number: u32  # the NIC's: the host DMA count at which the record is in host memory
    total: u32  # with TRUNCATED: bytes that the message has
    tag: u32
    length: u32  # of what was received; FOUND, FOUND_PULL: of the message
    source: u16
    operation: u16
    sequence: u16
    kind: u8
    error: u8


class Type(IntEnum):
    """Header.type."""

    NONE = 0
    EAGER = 1  # envelope and body on credit (NP-20)
    EAGER_UNPAID = 2  # envelope and body without credit; answered by TAKEN or DROPPED (NP-24)
    RECV_REQ = 3  # envelope only (NP-21): `handle` brings the body
    SEND_REQ = 4  # bring the body of `handle` to receive entry `tag`, at most `length` bytes
    # a posted receive asks for a message not yet announced (NP-22): `handle` is envelopes seen <<
    # 16 | receive entry
    SEARCH_REQ = 5
    NACK = 6  # to SEARCH_REQ: no such message
    ANSWER = 7  # a part of a body, for receive entry `tag`, from byte `handle` on, `length` bytes
    ACK = 8  # carries credit only (NP-16)
    TAKEN = 9
    DROPPED = 10
    SEEN = 11  # acknowledges packets, where recovery is on
    ACCEPT = 12  # to SEARCH_REQ: the envelope, for receive entry `handle`; the body follows
    EAGER_LOST = 13  # EAGER and EAGER_UNPAID whose body could not be read: `length` bytes that mean nothing follow
    UNPAID_LOST = 14
    LAST = 15


class Header(Struct):
    """The first words of each packet; a body follows at once. `channel` is the receiver's number of
    the channel."""

    type: u8
    flags: u8
    channel: u16
    credit: u32  # cumulative: message slots given back << 16 | heap blocks given back (NP-16)
    tag: u32
    length: u32
    context: u16
    # of the message in its channel: the count of envelopes before it. With recovery: who sends to
    # whom, see Reliability.here
    sequence: u16
    handle: u32
    number: u16  # of the packet in its channel, and
    seen: u16  # ... of the one expected next from the other side: used by recovery only


FLAG_LAST: Const[u32] = u32(1)  # ANSWER: the body ends with this packet
FLAG_FAILED: Const[u32] = u32(2)  # the body is not sound; ANSWER: with FLAG_LAST, the sender cannot bring the rest
NO_BODY: Const[u32] = u32(0)  # handle of a message whose body no NIC holds: no entry of a page table has this number
FLAG_GAP: Const[u32] = u32(0x40)  # SEEN: packets from `seen` on are missing
FLAG_NUMBERED: Const[u32] = u32(0x80)  # `number` and `seen` count


# Bits of `Plan.ways`.
CUT_THROUGH: Const[u32] = u32(1)  # packets leave, and go on to the host, before they are whole (NP-51)
QUICK: Const[u32] = u32(2)  # common cases go straight from the request to the link, and from it to the host


class Plan(Struct):
    """The driver's plan for the firmware, before it runs: where everything lies. Addresses are the
    processor's."""

    magic: u32  # LAYOUT_MAGIC | LAYOUT_VERSION
    endpoints: u32
    channels: u32  # of all endpoints together
    ranks: u32  # of the world; endpoint e's channel to rank r has the number e * ranks + r
    endpoint_table: u32
    send_table: u32
    announced_table: u32  # a bit for each page entry of each endpoint
    channel_table: u32
    channel_plan_table: u32  # a ChannelPlan for each channel
    message_table: u32
    messages_per_channel: u32
    block_table: u32
    blocks_per_channel: u32
    receive_table: u32
    receives_per_endpoint: u32
    copy_table: u32
    any_receives: u32  # ANY_SOURCE receives an endpoint may have posted: each needs a copy in every channel (NP-35)
    buffer_table: u32
    buffer_space: u32  # the common receive buffer (NP-25)
    buffers: u32  # a power of two
    stage_table: u32
    stage_space: u32  # where bodies wait between host DMA and send DMA (NP-39): of all channels, or `send_buffers`
    stages: u32  # a power of two
    slot_bytes: u32  # stride of request slots
    eager_limit: u32  # longest body that is sent on credit
    unpaid_limit: u32  # bodies shorter than this may go without credit (NP-24); 0 turns that protocol off
    ack_slots: u32  # slots given back before an ACK travels on its own; 1 is the paper's rule (NP-16)
    ack_blocks: u32  # ... blocks
    flaws: u32  # bits of a packet's verdict for which it is refused: without CRC where nothing is checked (NP-30)
    mark_entries: u32  # nonzero: page entries are marked when used (NP-46)
    ways: u32  # bits: CUT_THROUGH, QUICK. Upper half: ROOM_UNITs of each channel's send buffer (NP-04), 0: it has none
    window: u32  # packets of a channel that may be unacknowledged, a power of two; 0: no recovery
    reliability_table: u32
    unacked_table: u32
    spare_buffers: u32  # buffers for bodies beyond one a stage, as bodies stay until they are acknowledged
    tick: u32  # processor cycles from one look at the clock to the next
    retries: u32  # timeouts after which a peer counts as lost
    pools: u32  # places for messages that all channels share in turn; 0: each channel has its own
    pool_table: u32
    spill_memory: (
        u32  # bus address of host memory, outside every rank's window, where evicted channels leave their messages
    )
    spill_bytes: u32  # for each channel
    hdma_queue: u32  # descriptors that the host DMA's queue holds
    recv_queue: u32  # buffers to keep posted: at most what the receive DMA's queue holds


class EndpointPlan(Struct):
    """One rank on this NIC."""

    region: u32  # address of its Region
    rank: u32
    window: u32  # bus addresses a with (a ^ window) & window_mask == 0 are its memory
    window_mask: u32
    record_ring: u32  # bus address
    records: u32
    page_table: u32  # bus address
    page_entries: u32


class ChannelPlan(Struct):
    """One channel."""

    route: u32
    peer_channel: u32  # the number that the other NIC gives to this channel


assert sizeof(Request) == 48
assert sizeof(PageEntry) == 48
assert sizeof(Record) == 32
assert sizeof(Header) == 28
assert sizeof(Region) == 64
