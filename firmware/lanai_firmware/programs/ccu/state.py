"""The daemon's memory. Counts and numbers are of things since the start, and wrap around."""

from lanai_firmware.lang import Array, Const, Global, Ptr, Struct, at, inline, u8, u16, u32

from .layout import GROUP, GROUP_AT, GROUPS, NODE_WORDS, NODES, SILENT_WORDS, Border, Config, Packet, Status

NO_ENTRY: Const[u32] = u32(0)  # entry 0 is in no pool


class Entry(Struct):
    """The daemon's state of a pool entry."""

    outstanding: u32  # nodes that have not acknowledged: the ack_outstanding list (CC-09)
    free: u32  # 1: it is in its pool
    readers: u32  # clients that have not read it: the read_outstanding list (CC-05)
    nodes: Array[u32, "NODE_WORDS"]  # all remote nodes that it is for, as `SendSlot.nodes` has them
    pending: u32  # nodes that it is still to be sent to in this round
    queued: u32  # 1: it waits to be sent, or it is being sent, or it waits for the packets before it
    sent_at: u32
    tries: u32
    follows: u32  # 1: a fragment of a datagram, and not the first
    start: u32  # SRAM address of its `tag`
    size: u32  # bytes from there on
    clients: Array[u8, "GROUP"]
    numbers: Array[u16, "GROUP"]


class Peer(Struct):
    """Another node. Sequence numbers belong to the pair (CC-08)."""

    next: u32  # the number of the next packet to it
    acked: u32  # all before this number are acknowledged
    window: Array[u16, 64]  # by number: the entry with that packet; NO_ENTRY: acknowledged
    expected: u32  # all before this number have come
    seen: u32  # one past the largest number that has come
    held: Array[u16, 64]  # by number: the entry of a packet that came out of order; NO_ENTRY
    unacked: u32  # packets accepted since the last acknowledgement
    since: u32  # the time of the first of them
    answer: u32  # 1: an acknowledgement is to leave


class Queue(Struct):
    """Indices of entries. Each entry is in it at most once, so it never overflows."""

    first: u32
    last: u32
    items: Array[u16, 512]


class ClientState(Struct):
    """The daemon's side of a client."""

    stage: u32  # as the rank's `Client.stage` was when the daemon looked at it last
    queue: Queue  # the receive queue (CC-02)
    entries: Array[u32, 16]  # by slot of the send queue
    sent: u32
    fragments: u32  # of the datagram that is being taken: those that are still to be
    arrived: u32
    changed: u32
    shown_after: u32  # host DMA transfers after which `shown` may change
    shown: Status


class Read(Struct):
    """A copy of a packet to a client. `after`: host DMA transfers after which it is done."""

    entry: u32
    after: u32


class Daemon(Struct):
    config: Config
    peers: Array[Peer, "NODES"]
    # nodes given up; with several groups two counts behind them, so that not all nodes need be looked at: of nodes with
    # `Peer.answer`, and of those with `Peer.unacked`
    silent: Array[u32, "SILENT_WORDS"]
    client_states: Array[ClientState, 8]
    turn: u32  # the client whose send queue is looked at first
    free_send: Queue
    free_receive: Queue
    posted: Queue  # entries that the receive DMA has, in order
    outgoing: Queue  # packets to be sent
    launched: u32  # packets given to the send DMA
    transfers: u32  # host DMA transfers queued
    reads: Array[Read, 64]
    reads_first: u32
    reads_last: u32
    transmitting: u32  # entries that some node has not acknowledged
    armed: u32  # the time that the timer runs for, in quarters of it; 0: it does not run
    looked: u32  # when all packets were last looked at for timeouts
    ack: Array[u32, 6]  # the acknowledgement that leaves
    entries: Array[Entry, 320]


class Shared(Struct):
    """The memory that the ranks of this node reach: the send pool, and the receive pool behind it."""

    border: Border
    packets: Array[Packet, 320]


daemon: Global[Daemon]
shared: Global[Shared]


@inline
def group_of(nodes: Ptr[u32]) -> u32:
    """The number of the group of a set of nodes. A rank may have written any number."""
    group = u32(0)
    if GROUPS != 1:
        group = nodes[GROUP_AT]
    return group


@inline
def place_of(node: u32) -> u32:
    """The place of a node in its group."""
    place = node
    if GROUPS != 1:
        place = node % GROUP
    return place


@inline
def word_at(address: u32) -> Ptr[u32]:
    return at(Ptr[u32], address)
