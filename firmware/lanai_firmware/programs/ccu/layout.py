"""The interface of host and daemon: configuration, send queues, packets, and the words that the daemon
writes to its hosts.

The driver writes `Config` before the processor starts. Each rank on the NIC (a *client*) reaches
`Border` and the entries of the send pool behind it: memory that all ranks of a node share with
their daemon (CC-02).

The daemon writes to a client's host memory at `Config.memory` and nowhere else: CLIENT_BYTES from
the address that the driver has given. No rank writes an address.

Sending. A slot of a client's send queue stands for an entry of the send pool: the daemon writes
which to `Status.entries`. The rank writes a packet from `Packet.tag` on into that entry, then the
slot, its `number` last, and rings DOORBELL (CC-03). The daemon puts a free entry in the slot's
place (CC-04).

Receiving. A packet is copied to the next place of the ring in the client's host memory, from
`Packet.tag` on. The rank counts what it has taken out (`Client.read`).

On the wire a packet begins where its targets need it to: kind and node, then a word for each
target, then `tag`, `length` and content. An acknowledgement is six words: kind and node,
`expected`, a map of what has come, a map of what is lost (CC-10). A map is two words, the lower
numbers first. Bit i of a map is number `expected` + i.

A packet is for nodes of one *group*: those whose numbers differ in the last bits only, GROUP of them. 16 nodes are
one group. A build for more has several (`sizes`).

With `Config.datagrams` the packets of a client up to the next with LAST in its tag are fragments of
one datagram, as UDP cuts them. They leave when all of them are in the send queue, and are delivered
when all have come. A datagram is acknowledged as a whole, and the next to its nodes leaves only
then. If a fragment is lost, all are sent again.
"""

from collections.abc import Sequence
from enum import IntEnum

from lanai_firmware.lang import Array, Const, Struct, u8, u32

READY = 0x4343_5504  # in SCRATCH0: "CCU", version 4
NODES: Const[u32] = u32(16)  # at most
GROUP: Const[u32] = u32(16)  # nodes of a group
GROUPS: Const[u32] = u32(1)
GROUP_AT: Const[u32] = u32(0)  # in `SendSlot.nodes` and `Entry.nodes`: the number of the group, if there are several
NODE_WORDS: Const[u32] = u32(1)  # of these
SILENT_WORDS: Const[u32] = u32(1)  # in `Daemon.silent`
ANSWERS_AT: Const[u32] = u32(0)  # in `Daemon.silent`, if there are several groups
OWING_AT: Const[u32] = u32(0)
MOST_NODES = 256  # a packet has 8 bits for a node
WORD_BITS = 32  # nodes of a group, if there are several
TARGETS: Const[u32] = u32(16)  # of a packet: a route word has as many ports
CLIENTS: Const[u32] = u32(8)
SLOTS: Const[u32] = u32(16)  # of a send queue
SEND_ENTRIES: Const[u32] = u32(192)
ENTRIES: Const[u32] = u32(320)  # those of the send pool, then those of the receive pool
NUMBERS: Const[u32] = u32(64)  # packets of a pair that can be told apart; a window is smaller
CONTENT: Const[u32] = u32(1331)  # bytes of a packet (CC-15)
HEAD_BYTES: Const[u32] = u32(8)  # `tag` and `length`
RING: Const[u32] = u32(64)  # packets that a client's host memory holds
PLACE: Const[u32] = u32(1344)  # bytes of one: HEAD_BYTES and CONTENT, whole words and more
RING_AT: Const[u32] = u32(4096)  # where its first place is
CLIENT_BYTES: Const[u32] = u32(int(RING_AT) + int(RING) * int(PLACE))  # of a client's host memory
DATA: Const[u32] = u32(1)  # kinds of packet
ACK: Const[u32] = u32(2)
CAME_AT: Const[u32] = u32(2)  # words of an acknowledgement: its maps
LOST_AT: Const[u32] = u32(4)
ACK_WORDS: Const[u32] = u32(6)
MPI_HEAD: Const[u32] = u32(1 << 31)  # in `tag`: a message begins; it ends. The daemon does not look.
MPI_TAIL: Const[u32] = u32(1 << 30)
LAST: Const[u32] = u32(1 << 29)  # in `tag`: of a datagram
BEGUN: Const[u32] = u32(1)  # in `Client.stage`
CLOSED: Const[u32] = u32(2)


class Count(IntEnum):
    """The counters in `Border.counts`."""

    SENT = 0  # data packets, by first transmission; a broadcast is one
    RESENT = 1
    TIMEOUTS = 2  # packets whose acknowledgement did not come in time
    RECEIVED = 3  # data packets accepted
    DUPLICATES = 4  # received before, or outside the window
    DAMAGED = 5
    OVERFLOWS = 6  # dropped, because no entry was free
    ACKS_LOST = 7  # acknowledgements sent, by reason: a number is missing
    ACKS_AGAIN = 8  # a packet came that was there
    ACKS_NTH = 9  # so many have come
    ACKS_TIMER = 10  # the acknowledgement timer
    PRESSURE = 11  # packets that waited because a rank's ring was full


class Config(Struct):
    """Times in processor cycles. `routes` are words for a packet to one node."""

    node: u32
    nodes: Array[u32, "GROUPS"]  # a bit for each node of the job
    clients: u32  # ranks on this node
    window: u32
    ack_every: u32
    ack_timer: u32  # 0: none
    timeout: u32
    retries: u32  # timeouts of a packet after which its nodes are given up
    resend_all: u32  # 1: a packet is sent again to all its nodes, not just to those that lack it
    broadcast: u32  # 1: the fabric takes a mask of nodes
    datagrams: u32  # 1: packets are fragments of datagrams, and `work` is for each of these
    work: u32  # cycles that a packet costs the daemon: what the kernel's calls cost on a workstation
    buffers: u32  # entries that the receive DMA has at most: the kernel's buffer (CC-12); 0: all it takes
    present: u32  # cycles after which other processes get the processor of a workstation with an odd
    away: u32  # number, and for so many; 0: never
    routes: Array[u32, "NODES"]
    memory: Array[u32, 8]  # bus addresses of the clients' host memory


class SendSlot(Struct):
    """`number` is written last. It is 1 for the first packet of the client, and one more for
    each."""

    clients: Array[u8, "GROUP"]  # by node: a bit for each client there that gets the packet
    nodes: Array[u32, "NODE_WORDS"]  # a bit for each node with a client; with several groups: the number of theirs
    number: u32


class Client(Struct):
    """`stage` BEGUN: the rank's memory is there. Before, packets wait. CLOSED: it has ended for good,
    and packets are dropped. The daemon sets `released` to 1 when it will not reach the memory of a
    rank that has ended any more."""

    slots: Array[SendSlot, 16]
    stage: u32
    read: u32  # packets taken out of the ring
    released: u32


class Border(Struct):
    """Words that ranks write, and `counts`, which they read: `Count` names each."""

    clients: Array[Client, 8]
    counts: Array[u32, len(Count)]


class Packet(Struct):
    """An entry of a pool. A packet that arrives lies at its start, one that leaves ends with its
    content."""

    kind: u32  # kind, number of targets, node of the sender: 8, 8, 16 bits
    targets: Array[u32, int(TARGETS)]  # node, bits of clients, number: 8, 8, 16 bits
    tag: u32  # the library's
    length: u32  # of the content
    content: Array[u8, 1332]


class Status(Struct):
    """The first words of a client's host memory. `changes` is written last, and differs each
    time."""

    entries: Array[u32, 16]  # by slot of the send queue
    sent: u32  # packets taken from the send queue
    arrived: u32  # packets in the ring, in all
    silent: Array[u32, "GROUPS"]  # nodes that do not answer, a bit for each
    changes: u32


def sizes(nodes: int) -> dict[str, int]:
    """Return the constants with which the daemon is built for so many nodes. Up to 16 need no others than the source
    has, so that their times do not depend on how many there may be."""
    if nodes <= int(NODES):
        return {}
    room = 1 << (nodes - 1).bit_length()
    chosen = {"NODES": room, "GROUP": WORD_BITS}
    groups = room // WORD_BITS
    counts = {"SILENT_WORDS": groups + 2, "ANSWERS_AT": groups, "OWING_AT": groups + 1}
    several = {"GROUPS": groups, "GROUP_AT": 1, "NODE_WORDS": 2, **counts}
    return chosen | several if groups > 1 else chosen


def group_words(nodes: int) -> list[int]:
    """Return the words, one for each group, of a set that has a bit for each node."""
    return [nodes >> first & (1 << WORD_BITS) - 1 for first in range(0, max(1, nodes.bit_length()), WORD_BITS)]


def nodes_of(words: Sequence[int]) -> int:
    """Return the set with a bit for each node that has these words."""
    return sum(word << WORD_BITS * group for group, word in enumerate(words))
