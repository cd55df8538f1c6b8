"""The interface of host and NIC: registers, requests, packets, and the words that the NIC writes to
its host.

The driver writes the number of the NIC's node to SCRATCH1, to SCRATCH2 whether packets may overtake
each other, and `Config` before the processor starts. The rank reaches `Border` in SRAM only. It
writes the bus address of its heap once, and then requests into the ring. It rings DOORBELL after
each.

A PUT moves `length` bytes to a place in the memory of another rank. They come from host memory, or
from the request itself: then they stand at the end of `inline`. A request of another kind is a
question: an `Ask` stands at the end of `inline`, the remote NIC sends an ANSWER, whose bytes this
NIC writes to `result`.

A rank may write anything into a request, at any time. So the NIC copies a request before it judges
it, and knows the routes itself. It sends nothing for a request that asks for what there is not, and
counts it as done and as a fault.

A packet is a header of three words and at most BODY bytes, padded to whole words. Packets of one
node to another are numbered, so that one that is lost, doubled or damaged is noticed. There is no
recovery: the network of the T3D loses nothing. Where packets may overtake each other, as on the
T3E, the numbers only count them.

The NIC writes COUNTERS to the start of the heap. The last one is the sum of the others: it changes
with each of them.
"""

from enum import IntEnum

from lanai_firmware.lang import Array, Const, Struct, u32

READY = 0x5055_5403  # in SCRATCH0: "PUT", version 3
ADAPTIVE = 1  # in SCRATCH2: packets may overtake each other
RING: Const[u32] = u32(16)  # requests outstanding
INLINE_WORDS: Const[u32] = u32(24)
NODES: Const[u32] = u32(256)  # at most
BODY: Const[u32] = u32(2048)  # bytes of a packet
HEADER: Const[u32] = u32(12)
BUS: Const[u32] = u32(1 << 31)  # in `length`: the address is on the bus of the remote host, not an offset in its heap
# In `length`: these bytes are a flag for the remote rank: all that came before them is there. The remote
# NIC writes them when all that is in memory, and not at all if something failed.
FLAG: Const[u32] = u32(1 << 30)
# In `length` of a packet: its bytes could not be read, or the question was refused. It counts as a fault.
SPOILT: Const[u32] = u32(1 << 29)
LENGTH: Const[u32] = u32((1 << 16) - 1)  # mask: bytes of a request or a packet
KIND_AT: Const[u32] = u32(26)  # in `length`: the lowest bit of a `Kind`
KIND_MASK: Const[u32] = u32(7)
ASKED: Const[u32] = u32(int(LENGTH) | int(BUS) | int(FLAG) | int(KIND_MASK) << int(KIND_AT))  # mask: bits of a request
OUTSTANDING: Const[u32] = u32(2)  # questions of one NIC without an answer
ASKS: Const[u32] = u32(512)  # questions that a NIC keeps: those of all nodes


class Kind(IntEnum):
    """The kind of a request or a packet."""

    PUT = 0
    GET = 1  # answered by `length` bytes, at most BODY
    SWAP = 2  # a word of the remote memory is replaced by the operand; answered by the word before
    ADD = 3  # the operand is added to a word of the remote memory; answered by the word before
    FENCE = 4  # answered when all that was put there before is in memory. Requests behind it wait for the answer
    ANSWER = 5  # packets only


CLOSED: Const[u32] = u32(1)  # in place of the heap's address


class Counter(IntEnum):
    """Words that the NIC writes to the start of the heap."""

    FAULTS = 0  # packets damaged or not the next one, host memory that could not be reached, requests refused
    COMPLETED = 1  # requests whose bytes have been taken: their source may change
    RECEIVED = 2  # packets written to this host's memory
    ANSWERED = 3  # questions answered: the bytes are in this host's memory
    SUM = 4


COUNTERS: Const[u32] = u32(len(Counter))


class Config(Struct):
    """Parameters that only the driver writes."""

    nodes: u32  # of the job
    routes: Array[u32, int(NODES)]  # to each of them


class Request(Struct):
    """`number` is written last. It is 1 for the first request, and one more for each."""

    spare: Array[u32, 3]  # for 128 bytes: the processor does not multiply
    inline: Array[u32, 24]
    node: u32
    address: u32  # there
    length: u32  # with BUS, FLAG and the kind
    source: u32  # here, on the bus; 0: in `inline`
    number: u32


class Border(Struct):
    """Words that the rank may write. `heap` 0: the rank has not begun, and packets wait. CLOSED: it has
    ended, and packets are dropped. The NIC sets `released` to 1 when it will not reach the memory
    of a rank that has ended any more."""

    requests: Array[Request, 16]
    heap: u32
    released: u32


class Header(Struct):
    address: u32
    length: u32  # with BUS, FLAG, SPOILT and the kind
    number: u32  # node of the sender in the upper half (NODES more: an answer), number of the packet in the lower


class Ask(Struct):
    """The body of a question, behind the header."""

    result: u32  # where the answer goes, on the bus of the asker's host
    operand: u32
