"""What host and NIC agree on: registers, requests, packets, and the words that the NIC writes to its host.

The driver writes the number of the NIC's node to SCRATCH1 before the processor starts. The rank reaches `Border` in SRAM. It
writes the bus address of its heap once, and then requests into the ring. It rings DOORBELL after each.

A request moves `length` bytes to a place in the memory of another rank. They come from host memory, or from the request itself:
then they stand at the end of `inline`.

A packet is a header of three words and at most BODY bytes, padded to whole words. Packets of one node to another are numbered, so that one that is
lost, doubled or damaged is noticed. There is no recovery: the network of the T3D loses nothing.

The NIC writes COUNTERS to the start of the heap. The last one is the sum of the others: it changes with each of them.
"""

from enum import IntEnum

from lanai_firmware.lang import Array, Const, Struct, u32

READY = 0x5055_5401  # in SCRATCH0: "PUT", version 1
RING: Const[u32] = u32(16)  # requests outstanding
INLINE_WORDS: Const[u32] = u32(24)
NODES: Const[u32] = u32(256)  # at most
BODY: Const[u32] = u32(2048)  # bytes of a packet
HEADER: Const[u32] = u32(12)
BUS: Const[u32] = u32(1 << 31)  # in `length`: the address is on the bus of the remote host, not an offset in its heap
# In `length`: these bytes tell the remote rank that what came before them is there. The remote NIC writes them when all that
# came before them is in memory, and not at all if something failed.
FLAG: Const[u32] = u32(1 << 30)
LENGTH: Const[u32] = u32((1 << 16) - 1)  # mask: bytes of a request or a packet


CLOSED: Const[u32] = u32(1)  # in place of the heap's address


class Counter(IntEnum):
    """Words that the NIC writes to the start of the heap."""

    FAULTS = 0  # packets that were damaged or not the next one, host memory that could not be reached
    COMPLETED = 1  # requests whose bytes have been taken: their source may change
    RECEIVED = 2  # packets written to this host's memory
    SUM = 3


COUNTERS: Const[u32] = u32(len(Counter))


class Request(Struct):
    """`number` is written last. It is 1 for the first request, and one more for each."""

    inline: Array[u32, 24]
    route: u32
    node: u32
    address: u32  # there
    length: u32  # with BUS and FLAG
    source: u32  # here, on the bus; 0: in `inline`
    number: u32


class Border(Struct):
    """What the rank may write. `heap` 0: the rank has not begun, and packets wait. CLOSED: it has ended, and packets are dropped.
    The NIC sets `released` to 1 when it will not reach the memory of a rank that has ended any more."""

    requests: Array[Request, 16]
    heap: u32
    released: u32


class Header(Struct):
    address: u32
    length: u32  # with BUS and FLAG
    number: u32  # node of the sender in the upper half, number of the packet in the lower
