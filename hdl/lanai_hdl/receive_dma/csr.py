"""The receive DMA's registers."""

from enum import IntFlag

from ..csr.declare import Access, Behavior, Counter, EventBit, Register, RegisterBlock, Status


class Verdict(IntFlag):
    """RECV_VERDICT: 0 when no finished packet waits. VALID stands in every other verdict; a sound
    packet's is VALID, with CHECKED if it passed a CHECK flit, and any other bit beside shows what
    is wrong with it."""

    VALID = 1 << 0  # a finished packet waits, sound or not
    CRC = 1 << 1  # the CRC of TAIL or of a CHECK flit did not match
    OVERRUN = 1 << 2  # longer than its buffer; RECV_LENGTH bytes of it are in the buffer
    TRUNCATED = 1 << 3  # a new HEAD or a dead link came before the TAIL
    CHECKED = 1 << 4  # passed a CHECK flit, so that what came before it is sound whatever came after


RECEIVE_DMA = RegisterBlock(
    "Receive DMA",
    (
        Register(
            "RECV_POINTER",
            0x180,
            Access.P_RW,
            Behavior.STORAGE,
            "Next buffer: first SRAM address; word aligned. Kept after posting.",
            forwarded=True,
        ),
        Register(
            "RECV_LIMIT",
            0x184,
            Access.P_RW,
            Behavior.TRIGGER,
            "Writing posts the buffer [RECV_POINTER, this); word aligned. Buffers serve packets in order, one "
            "each, from their start. With none "
            "posted the packet waits on the wire. One that leaves the SRAM or ends before it starts is refused "
            "and counted, as is one too many.",
        ),
        Register(
            "RECV_COUNT",
            0x188,
            Access.RO,
            Behavior.VIEW,
            "Bytes written so far of the packet now arriving; 0 between packets.",
        ),
        Register(
            "RECV_CURRENT",
            0x18C,
            Access.RO,
            Behavior.VIEW,
            "Start of the buffer that the arriving packet fills (RECV_STATUS.BUSY).",
        ),
        Register(
            "RECV_WATERMARK",
            0x190,
            Access.P_RW,
            Behavior.STORAGE,
            "Event.RECV_PROGRESS is RECV_COUNT >= this, while BUSY; 0 is never.",
            forwarded=True,
        ),
        Register(
            "RECV_STATUS", 0x194, Access.RO, Behavior.VIEW, "Free buffer entries, BUSY, CHECKED, LINK_UP.", Status
        ),
        Register(
            "RECV_LENGTH",
            0x198,
            Access.RO,
            Behavior.VIEW,
            "Oldest finished packet: bytes in its buffer, a multiple of 4.",
        ),
        Register("RECV_BUFFER", 0x19C, Access.RO, Behavior.VIEW, "Oldest finished packet: start of its buffer."),
        Register(
            "RECV_VERDICT",
            0x1A0,
            Access.P_RW,
            Behavior.COMMAND,
            "Oldest finished packet: how it fared; 0 means none. Writing anything pops it. While the "
            "completion queue is full the next packet "
            "waits on the wire.",
            Verdict,
        ),
        Register("RECV_DONE", 0x1A4, Access.RO, Behavior.VIEW, "Packets finished, modulo 2**32."),
    ),
    events=(
        EventBit("RECV_DONE", 3, "a finished packet waits to be popped", level=True),
        EventBit(
            "RECV_PROGRESS",
            4,
            "RECV_COUNT of the packet now arriving is at or past a nonzero RECV_WATERMARK",
            level=True,
        ),
        EventBit("RECV_OVERRUN", 5, "a packet was longer than its buffer; the rest was dropped"),
    ),
    counters=(
        Counter("RX_PACKETS", 0x24C, "packet finished with a sound verdict"),
        Counter("RX_CRC_ERRORS", 0x258, "packet with a wrong CRC"),
        Counter("RX_TRUNCATED", 0x25C, "packet without its TAIL"),
        Counter("RX_OVERRUNS", 0x260, "packet longer than its buffer"),
        Counter("RX_TIMEOUTS", 0x274, "packet dropped because no buffer came in time"),
        Counter("RECV_REFUSED", 0x280, "receive buffer refused"),
    ),
)
