"""The counters of the host bus."""

from ..csr.declare import Counter, RegisterBlock

HOST_BUS = RegisterBlock(
    "Host bus",
    counters=(
        Counter("BUS_BURSTS", 0x228, "host bus burst begun by the NIC as master"),
        Counter("BUS_BEATS", 0x22C, "word moved on the host bus by the NIC as master"),
        Counter("PIO_READS", 0x230, "word read by the host"),
        Counter("PIO_WRITES", 0x234, "word written by the host"),
        Counter("PIO_FAULTS", 0x288, "PIO access outside the map, or partial write to a register"),
    ),
)
