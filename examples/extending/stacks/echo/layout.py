"""The layout that host and firmware share: registers, words of host memory, the packet.

Host memory of a rank, at the bus address in SCRATCH1, in pages:
    page 0: counters, written by the NIC: packets acknowledged, packets received, and their sum
    page 1: the packet to send, written by the host
    then RING pages: packets received, one a page; packet n is in page n modulo RING
"""

PAGE = 4096
RING = 8
RANKS = 64  # at most: each may wait for one acknowledgement
READY = 0x4543_484F  # in SCRATCH0 when the firmware runs
# SCRATCH2: packets that the host asked to be sent, counted. SCRATCH3: bytes of the last one.
# SCRATCH4: packets that the host has taken out of the ring, counted.
COUNTERS = 0
OUTGOING = PAGE
INCOMING = 2 * PAGE
MEMORY = (2 + RING) * PAGE

# A packet: these words, then at most BODY bytes.
ROUTE, BACK, SOURCE, LENGTH = range(4)  # way there, way of the acknowledgement, sending rank, bytes of the body
LAST = 1 << 31  # in LENGTH: the message ends here
HEAD = 16
BODY = 2048
ACKNOWLEDGEMENT = 4  # bytes of a packet that acknowledges: shorter than any other
