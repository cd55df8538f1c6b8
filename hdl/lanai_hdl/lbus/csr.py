"""Who used the local bus."""

from ..csr.declare import Counter, RegisterBlock

LBUS = RegisterBlock(
    "Local bus",
    counters=(
        Counter("SLOTS_HDMA_USED", 0x200, "slot granted to the host DMA"),
        Counter("SLOTS_HDMA_WAITED", 0x204, "slot in which the host DMA asked in vain"),
        Counter("SLOTS_PIO_USED", 0x208, "slot granted to host PIO"),
        Counter("SLOTS_PIO_WAITED", 0x20C, "slot in which host PIO asked in vain"),
        Counter("SLOTS_RECV_USED", 0x210, "slot granted to the receive DMA"),
        Counter("SLOTS_RECV_WAITED", 0x214, "slot in which the receive DMA asked in vain"),
        Counter("SLOTS_SEND_USED", 0x218, "slot granted to the send DMA"),
        Counter("SLOTS_SEND_WAITED", 0x21C, "slot in which the send DMA asked in vain"),
        Counter("SLOTS_CPU_USED", 0x220, "slot granted to the processor"),
        Counter("SLOTS_CPU_WAITED", 0x224, "slot in which the processor asked in vain"),
        Counter(
            "LBUS_FAULTS", 0x28C, "access beyond the SRAM by a processor that does not trap on it, as the Lanai does"
        ),
    ),
)
