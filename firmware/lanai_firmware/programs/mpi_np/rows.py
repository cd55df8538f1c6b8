"""Rows of the tables that the firmware keeps in SRAM for each rank and each pair of ranks:
endpoints, channels, receives, messages, sends.

The rows point at each other, so they are declared together. The size of a table depends on the
configuration: it lies where the driver's `Plan` says, and `state.nic` points at it.
"""

from lanai_firmware.lang import Array, Ptr, Struct, sizeof, u16, u32

from .layout import Header, PageEntry, Piece, Region


class Cursor(Struct):
    """A place in a message in host memory: bytes are taken from it in order, piece by piece."""

    address: u32  # bus address of the next byte
    left: u32  # bytes from there to the end of the piece
    piece: u32  # index of the piece in `current`
    side: u32  # which of `entries` is current
    fetched: u32  # host DMA count at which the other entry is there
    more: u32  # nonzero: the other entry is there or on its way
    entries: Array[PageEntry, 2]


class Posted(Struct):
    """An entry of a channel's expected list: a receive, or one copy of an ANY_SOURCE receive
    (NP-35)."""

    next: Ptr["Posted"]
    previous: Ptr["Posted"]
    key: u32  # context << 16 | lower half of the tag: one compare turns down nearly every entry
    tag: u32
    mask: u32  # 0 for ANY_TAG, all ones else
    receive: Ptr["Receive"]
    chain: Ptr["Posted"]  # the horizontal chain: the next copy, null after the last and in a single entry
    care: u32  # bits of the key that count


class Message(Struct):
    """An envelope that has arrived and is not claimed (NP-33)."""

    next: Ptr["Message"]
    previous: Ptr["Message"]
    key: u32  # context << 16 | lower half of the tag
    tag: u32
    length: u32
    handle: u32  # promise: what the sender calls it. Body: number of its first heap block
    state: u32
    release: u32  # leaving: host DMA count at which the body has left; the number of its channel's blocks else unused


class Receive(Struct):
    """A receive that the host has posted."""

    posted: Posted
    state: u32
    operation: u32
    endpoint: Ptr["Endpoint"]
    channel: Ptr["Channel"]  # once matched
    next: Ptr["Receive"]  # in the channel's list of pulls
    limit: u32  # bytes of room
    length: u32  # bytes of the message that it takes
    handle: u32
    number: u32  # index in the NIC's receive table: what an ANSWER calls it
    chained: Ptr[Posted]  # first copy of an ANY_SOURCE receive
    arrived: u32  # bytes of the body so far
    whole: u32  # messages up to this length fit, and go to the first piece alone
    error: u32
    cursor: Cursor
    asked: u32  # nonzero: some channel has a question of this entry's, see `searching`
    cancel: u32  # who wants to cancel it once that is answered: 0x10000 | operation
    record: u32  # of a receive that took its body in parts: host DMA count at which the host knows that it is done
    both: u32  # messages up to this length fit, and go to the first two pieces
    total: u32  # bytes that the message has, if it is truncated
    spare: Array[u32, 8]


class Send(Struct):
    """One request slot, and the send in it: what its request said when it was read."""

    next: Ptr["Send"]  # in the channel's private send ring
    endpoint: Ptr["Endpoint"]
    channel: Ptr["Channel"]
    state: u32
    op: u32
    bit: u32  # of Region.freed
    unpaid: u32  # was sent without credit, and dropped: not twice (NP-24)
    tail: u32  # SRAM address of the slot's Request.tag. An inline body ends there
    tag: u32
    length: u32
    context: u16
    operation: u16
    table: u32  # this and the pieces: not of an inline send. There: the room of its body in `SendBuffer.ahead`, or 0
    pieces: Array[Piece, 2]


class Ring(Struct):
    """Room for bodies in SRAM, given out in a ring. Each has a word of its own before it: `send_buffers`."""

    start: u32
    size: u32
    head: u32  # offset of the oldest body's room
    tail: u32  # ... of the next one's
    used: u32


class SendBuffer(Struct):
    """Room of a channel for what it sends (NP-04, NP-39): `send_buffers`."""

    ahead: Ring  # bodies of sends that wait for credit
    leaving: Ring  # packets under way
    brought: u32  # host DMA count at which the bodies in `ahead` are there
    spare: Array[u32, 5]


class Job(Struct):
    """An answer under way: a body that the other side asked for."""

    state: u32
    receive: u32  # the other side's number
    left: u32  # bytes still to stage
    offset: u32
    operation: u32  # of the host; the number of the request slot if the body lies there
    total: u32
    failed: u32  # an Error, if the rest cannot be brought
    cursor: Cursor
    record: u32  # of a job that has ended: host DMA count at which the host knows
    handle: u32  # what was asked for


class Channel(Struct):
    """One pair of ranks, this end (NP-03, NP-04)."""

    expected: Posted  # ring anchor: receives with no message yet, in post order
    unclaimed: Message  # ring anchor: messages with no receive yet, in order of arrival
    endpoint: Ptr["Endpoint"]
    route: u32
    number: u32
    rank: u32
    peer_channel: u32
    eager_word: u32  # first word of an EAGER packet's header
    ready_next: Ptr["Channel"]
    ready: u32  # is in the ready ring
    control: u32
    first: Ptr[Send]  # private send ring: sends whose envelope has not left (NP-12)
    last: Ptr[Send]
    unpaid: Ptr[Send]  # sent without credit, the answer is not here yet
    slot_credit: u32
    block_credit: u32
    credit_seen: u32  # last credit word from the other side
    given: u32  # cumulative credit word for the other side
    told: u32  # ... as last sent
    sequence: u32  # envelopes sent
    arrived: u32  # envelopes seen
    waiting: u32  # unclaimed messages
    dropped_length: u32  # of the message that the other side must hear was dropped (OWE_DROPPED)
    first_pull: Ptr[Receive]  # matched receives whose SEND_REQ has not left
    last_pull: Ptr[Receive]
    pulls: u32  # SEND_REQs without answer
    free_messages: Ptr[Message]
    free_block: u32  # number of the first free heap block, 0: none
    jobs_active: u32
    jobs: Array[Job, 2]
    reliability: Ptr["Reliability"]  # null without recovery
    pool: Ptr["Pool"]  # null if the channel has one of its own: `pools`
    evicted: u32  # nonzero: another channel uses the pool
    evicted_unclaimed: Ptr[Message]  # while evicted: first of `unclaimed`, which looks empty, and
    evicted_free: Ptr[Message]  # ... `free_messages`, which looks used up
    asking: Ptr[Receive]  # whose SEARCH_REQ has no answer yet, or null
    unpaid_error: u32  # of the body of `unpaid`


class Pool(Struct):
    """Message slots and heap blocks that several channels use in turn: `pools`."""

    owner: Ptr[Channel]
    number: u32
    spare: Array[u32, 2]


class Unacked(Struct):
    """A packet that the other end has not acknowledged."""

    header: Header
    body: u32  # SRAM address
    length: u32
    buffer: u32  # room to give back with it, 0: none
    send: Ptr[Send]  # slot to give back with it, or null
    done: u32  # send DMA count at which it has left, the last time
    spare: Array[u32, 4]


class Reliability(Struct):
    """Recovery's state of a channel. Numbers count modulo 2**16: base <= acked <= again <=
    next."""

    unacked: Ptr[Unacked]  # ring of a window of packets, by number
    reserved: u32  # packets of the window in use: staged, under way, or acknowledged and still being read
    next: u32  # number of the next packet
    base: u32  # first packet not released
    acked: u32  # first packet that the other end has not seen
    again: u32  # first packet to send again; `next` if none
    expect: u32  # number of the next packet from the other end
    owed: u32  # packets taken and not acknowledged
    since: u32  # tick at which the other end was last heard of, or tried
    tries: u32
    gap: u32  # nonzero: it was asked for `expect`, which is missing
    dead: u32  # nonzero: the other end is lost
    # what packets from here say of their way: rank here << 8 | rank there. The CRC does not cover
    # the route, so a packet
    here: u32
    there: u32  # that comes by mistake can look sound; those of the other end say this
    spare: Array[u32, 2]


class Endpoint(Struct):
    """One rank on this NIC (NP-14)."""

    region: Ptr[Region]
    poll: Ptr[Send]  # slot in which the next request will appear
    sends: Ptr[Send]
    channels: Ptr[Channel]  # by rank
    receives: Ptr[Receive]
    following: Ptr["Endpoint"]  # whose turn is next: a ring
    bit: u32  # of DOORBELL
    rank: u32
    window: u32
    window_mask: u32
    record_ring: u32
    record_end: u32
    record: u32  # bus address of the next place in the ring
    sequence: u32
    page_table: u32
    page_entries: u32
    announced: Ptr[u32]  # bit i % 32 of word i / 32: page entry i is announced, and was not asked for yet
    freed: u32  # what Region.freed should say
    notify: u32  # announce the next unexpected arrival
    rotation: u32  # where the next ANY_SOURCE search begins
    number: u32
    copy_free: Ptr[Posted]
    lost: u32  # peers that are lost
    spare: Array[u32, 9]


assert sizeof(Posted) == 32
assert sizeof(Message) == 32
assert sizeof(Receive) == 256, sizeof(Receive)
assert sizeof(Send) == 64, sizeof(Send)
assert sizeof(Channel) == 512, sizeof(Channel)
assert sizeof(Endpoint) == 128, sizeof(Endpoint)
assert sizeof(Job) == 156, sizeof(Job)
assert sizeof(Unacked) == 64, sizeof(Unacked)
assert sizeof(Reliability) == 64, sizeof(Reliability)
assert sizeof(Pool) == 16, sizeof(Pool)
assert sizeof(SendBuffer) == 64, sizeof(SendBuffer)
