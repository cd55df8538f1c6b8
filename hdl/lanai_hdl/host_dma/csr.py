"""The host DMA's registers."""

from enum import IntFlag

from ..csr.declare import Access, Behavior, Counter, EventBit, Register, RegisterBlock, Status


class HostDmaStart(IntFlag):
    """HDMA_START: one of TO_SRAM and TO_HOST, and options."""

    TO_SRAM = 1 << 0  # host memory -> SRAM
    TO_HOST = 1 << 1  # SRAM -> host memory
    FEED = 1 << 2  # with TO_SRAM: every byte written adds one to SEND_CREDIT, so that chasing sends may take it
    # With TO_HOST: inside the receive buffer that a packet is now filling, keep behind the receive
    # DMA. Descriptors behind it wait as long as the packet takes, so those that FEED a packet which
    # has left in part belong before it: two NICs that each follow the other's chasing packet would
    # otherwise wait for each other.
    FOLLOW = 1 << 3
    # If the descriptor fails, the engine stops before it counts in HDMA_DONE, and goes on when
    # HOST_DMA_ERROR is cleared in ISR. So the processor learns which one failed (HDMA_DONE + 1, up
    # to HDMA_POINTER) while what is queued behind it can still be changed in SRAM.
    STOP = 1 << 4


HOST_DMA = RegisterBlock(
    "Host DMA",
    (
        Register(
            "HDMA_HOST",
            0x100,
            Access.P_RW,
            Behavior.STORAGE,
            "Next descriptor: host bus byte address. Kept after START.",
        ),
        Register(
            "HDMA_LOCAL", 0x104, Access.P_RW, Behavior.STORAGE, "Next descriptor: SRAM byte address. Kept after START."
        ),
        Register(
            "HDMA_LENGTH",
            0x108,
            Access.P_RW,
            Behavior.STORAGE,
            "Next descriptor: bytes, any number; 0 completes at once. Kept after START.",
        ),
        Register(
            "HDMA_START",
            0x10C,
            Access.P_ONLY,
            Behavior.COMMAND,
            "Queues the descriptor. Descriptors run in order. One that leaves the SRAM or the host bus's 32 "
            "bits, or names no one direction, moves "
            "nothing and completes with an error. With a full queue the write is dropped and counted. Reads 0.",
            HostDmaStart,
        ),
        Register("HDMA_STATUS", 0x110, Access.RO, Behavior.VIEW, "Free entries, BUSY, ERROR, STOPPED.", Status),
        Register(
            "HDMA_DONE",
            0x114,
            Access.RO,
            Behavior.VIEW,
            "Descriptors completed, with or without error, modulo 2**32: their last byte is where it should be.",
        ),
        Register(
            "HDMA_POINTER",
            0x118,
            Access.RO,
            Behavior.VIEW,
            "SRAM address up to which the running (else the last) descriptor has written, or towards the host read.",
        ),
    ),
    events=(
        EventBit("HOST_DMA_DONE", 0, "a descriptor completed, well or not"),
        EventBit(
            "HOST_DMA_ERROR",
            1,
            "a descriptor was refused, or host memory answered with an error; clearing it lets a stopped engine go on",
        ),
    ),
    counters=(Counter("HDMA_ERRORS", 0x278, "host DMA descriptor refused or failed"),),
)
