"""The send DMA's registers."""

from enum import IntFlag

from ..csr.declare import Access, Behavior, Counter, EventBit, Register, RegisterBlock, Status


class SendStart(IntFlag):
    """SEND_START: what surrounds the words of this descriptor."""

    FIRST = 1 << 0  # HEAD flit with SEND_ROUTE before the first word
    LAST = 1 << 1  # TAIL flit with the packet's CRC after the last word
    CHASE = 1 << 2  # each byte needs, and takes, one of SEND_CREDIT
    CHECK = 1 << 3  # CHECK flit with the CRC so far after the last word: the receiver may trust what came before it


SEND_DMA = RegisterBlock(
    "Send DMA",
    (
        Register(
            "SEND_ROUTE",
            0x140,
            Access.P_RW,
            Behavior.STORAGE,
            "Next descriptor: 4 route bytes, the next hop on top; unused ones 0. A byte is 0x80 | count << 4 | "
            "port. Kept after START.",
        ),
        Register(
            "SEND_POINTER",
            0x144,
            Access.P_RW,
            Behavior.STORAGE,
            "Next descriptor: SRAM address; bits 0 and 1 are ignored. Kept after START.",
        ),
        Register(
            "SEND_LENGTH",
            0x148,
            Access.P_RW,
            Behavior.STORAGE,
            "Next descriptor: bytes; the wire carries whole words, so the last one may hold up to 3 bytes "
            "more. 0 sends no word. Kept after START.",
        ),
        Register(
            "SEND_START",
            0x14C,
            Access.P_ONLY,
            Behavior.COMMAND,
            "Queues the descriptor. A packet is FIRST .. LAST, over one or more descriptors. One that leaves "
            "the SRAM sends no word, takes no"
            " credit and spoils the packet's CRC. With a full queue the write is dropped and counted. Reads 0.",
            SendStart,
        ),
        Register("SEND_STATUS", 0x150, Access.RO, Behavior.VIEW, "Free entries, BUSY, LINK_UP.", Status),
        Register(
            "SEND_DONE",
            0x154,
            Access.RO,
            Behavior.VIEW,
            "Descriptors whose last word has been read from SRAM, modulo 2**32.",
        ),
        Register(
            "SEND_CREDIT",
            0x158,
            Access.P_RW,
            Behavior.COMMAND,
            "Bytes that chasing sends may take: FEED transfers add, CHASE sends take, a write adds its "
            "(signed) value. Host DMA into, and sends "
            "out of, one chain of memory must run in the same order. A failed FEED descriptor adds the rest of "
            "its length, or 2**21 - 1 if "
            "that is less, and spoils the CRC of the chasing packet: no send waits for bytes that cannot come.",
        ),
    ),
    events=(EventBit("SEND_DONE", 2, "a send descriptor's last word was read from SRAM: its memory may be reused"),),
    counters=(Counter("SEND_ERRORS", 0x27C, "send descriptor refused"),),
)
