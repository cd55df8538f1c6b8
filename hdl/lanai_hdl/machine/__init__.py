"""The machine, declared once: memory map, on-chip registers, events.

Gateware, firmware, driver, waveform decoding and the reference page read this module; nothing restates it. Offsets are
explicit and never move within a major version of `MACHINE_VERSION`.

Everything is big-endian: the byte at address `a` of a word is its most significant one when `a % 4 == 0`. The processor
sees the on-chip registers at `REGISTERS_LOCAL` (they cost it no LBUS slot), the host sees the same block at
`REGISTERS_HOST` in its PIO window. Registers are whole words: a write with some byte enables off is ignored and counted.
`Access` tells who may do what; a write without the right is ignored, a read without it gives 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, Flag, IntFlag, auto

MACHINE_ID = 0x4C414E41  # "LANA"
MACHINE_VERSION = 0x0001_0000  # major.minor, 16 bits each

# Processor's view. The register window shadows the last 4 KiB of a 1 MiB SRAM: addresses below 1 MiB are reached by one
# Lanai instruction, and those above would cost two. DMA engines and the host do reach the SRAM beneath the window.
SRAM_BASE = 0x00000
RESET_PC = 0x00000
REGISTERS_LOCAL = 0xFF000
REGISTERS_SIZE = 0x01000

# Host's view: byte offsets in the NIC's PIO window.
SRAM_HOST = 0x000000
REGISTERS_HOST = 0x100000
PIO_WINDOW_SIZE = 0x200000

PAGE_SIZE = 4096


class Access(Flag):
    """Who may read (R) and write (W): P the processor, H the host."""

    PR = auto()
    PW = auto()
    HR = auto()
    HW = auto()
    RO = PR | HR
    P_RW = PR | PW | HR
    BOTH = PR | PW | HR | HW
    H_RW = HR | HW | PR


class Event(IntFlag):
    """Bits of ISR, and of the masks in WAIT and HOST_IRQ_MASK.

    Levels follow their cause and cannot be cleared in ISR: RECV_DONE (a finished packet waits to be popped), RECV_PROGRESS (RECV_COUNT
    of the packet now arriving is at or past a nonzero RECV_WATERMARK), DOORBELL (the register is nonzero), HOST_SIGNAL (likewise). The
    others are sticky: set by the event, cleared by writing one. What an instruction does to a level shows in ISR to the next one.
    """

    HOST_DMA_DONE = 1 << 0  # a descriptor completed, well or not
    HOST_DMA_ERROR = 1 << 1  # the descriptor was refused, or host memory answered with an error
    SEND_DONE = 1 << 2  # a send descriptor's last word was read from SRAM: its memory may be reused
    RECV_DONE = 1 << 3
    RECV_PROGRESS = 1 << 4
    RECV_OVERRUN = 1 << 5  # a packet was longer than its buffer; the rest was dropped
    DOORBELL = 1 << 6
    TIMER = 1 << 7
    LINK_ERROR = 1 << 8  # wrong CRC, truncated or stray flits, misrouted, link down
    BUS_ERROR = 1 << 9  # PIO or LBUS access outside the map, full queue, refused descriptor or buffer
    HOST_SIGNAL = 1 << 10


LEVEL_EVENTS = Event.RECV_DONE | Event.RECV_PROGRESS | Event.DOORBELL | Event.HOST_SIGNAL


class Control(IntFlag):
    """CONTROL."""

    RUN = 1 << 0  # 0 holds the processor in reset
    RESET = 1 << 1  # resets all of the NIC but the SRAM; reads as 0


class Features(IntFlag):
    """FEATURES."""

    CHASE = 1 << 0  # sends may chase the host DMA (FEED, CHASE)
    FOLLOW = 1 << 1  # host DMA may follow the receive DMA
    CHECK = 1 << 2  # packets may carry CHECK flits
    CACHE = 1 << 3  # instruction cache present


class HostDmaStart(IntFlag):
    """HDMA_START: one of TO_SRAM and TO_HOST, and options."""

    TO_SRAM = 1 << 0  # host memory -> SRAM
    TO_HOST = 1 << 1  # SRAM -> host memory
    FEED = 1 << 2  # with TO_SRAM: every byte written adds one to SEND_CREDIT, so that chasing sends may take it
    # With TO_HOST: inside the receive buffer that a packet is now filling, keep behind the receive DMA. Descriptors behind it wait as long as the
    # packet takes, so those that FEED a packet which has left in part belong before it: two NICs that each follow the other's chasing packet
    # would otherwise wait for each other.
    FOLLOW = 1 << 3


class SendStart(IntFlag):
    """SEND_START: what surrounds the words of this descriptor."""

    FIRST = 1 << 0  # HEAD flit with SEND_ROUTE before the first word
    LAST = 1 << 1  # TAIL flit with the packet's CRC after the last word
    CHASE = 1 << 2  # each byte needs, and takes, one of SEND_CREDIT
    CHECK = 1 << 3  # CHECK flit with the CRC so far after the last word: the receiver may trust what came before it


class Status(IntFlag):
    """HDMA_STATUS, SEND_STATUS, RECV_STATUS. FREE masks the number of free queue entries."""

    FREE = 0xFF
    BUSY = 1 << 8  # something is queued or running (RECV_STATUS: a packet is now being written)
    ERROR = 1 << 9  # HDMA_STATUS: the descriptor that finished last had an error
    CHECKED = 1 << 10  # RECV_STATUS: the packet now being written has passed a CHECK flit
    LINK_UP = 1 << 11  # SEND_STATUS and RECV_STATUS: the link has a carrier


class Verdict(IntFlag):
    """RECV_VERDICT: 0 when no finished packet waits. VALID stands in every other verdict; a sound packet's is VALID, with CHECKED if it
    passed a CHECK flit, and any other bit beside tells what is wrong with it."""

    VALID = 1 << 0  # a finished packet waits, sound or not
    CRC = 1 << 1  # the CRC of TAIL or of a CHECK flit did not match
    OVERRUN = 1 << 2  # longer than its buffer; RECV_LENGTH bytes of it are in the buffer
    TRUNCATED = 1 << 3  # a new HEAD or a dead link came before the TAIL
    CHECKED = 1 << 4  # passed a CHECK flit, so that what came before it is sound whatever came after


class Sticky(Enum):
    """How a register's bits leave: plain storage, cleared by writing ones, a view of hardware, or fixed when the NIC was built."""

    PLAIN = "plain"
    W1C = "write one to clear"
    VIEW = "view of hardware"
    FIXED = "fixed when built"
    ACTION = "writing acts"


@dataclass(frozen=True)
class Register:
    name: str
    offset: int
    access: Access
    kind: Sticky
    doc: str
    fields: type[IntFlag] | None = None


def _identity() -> list[Register]:
    def word(name: str, offset: int, doc: str, fields: type[IntFlag] | None = None) -> Register:
        return Register(name, offset, Access.RO, Sticky.FIXED, doc, fields)

    return [
        word("ID", 0x000, 'MACHINE_ID, "LANA".'),
        word("VERSION", 0x004, "MACHINE_VERSION: major in the upper half, minor in the lower."),
        word("FEATURES", 0x008, "What this NIC was built with.", Features),
        word("SRAM_SIZE", 0x00C, "Bytes of SRAM."),
        word("SLOT_KHZ", 0x010, "LBUS slots per millisecond; a processor cycle is two slots."),
        word("LINK_KBYTES", 0x014, "Link rate each way, kB/s."),
        word("LINK_LATENCY", 0x018, "Slots of one-way link latency that the receiver's slack is sized for."),
        word("HOST_BUS_KHZ", 0x01C, "Host bus clock, kHz."),
        word("HOST_BUS_BITS", 0x020, "Host bus width, bits."),
        word(
            "QUEUE_DEPTHS",
            0x024,
            "Entries, a byte each from the top: host DMA, send DMA, receive buffers, completions.",
        ),
        word("RX_FIFO", 0x028, "Flits of the link receiver's FIFO."),
        word("MAX_BURST", 0x02C, "Longest host bus burst, bytes."),
    ]


def _control() -> list[Register]:
    return [
        Register("CONTROL", 0x040, Access.H_RW, Sticky.ACTION, "Run and reset.", Control),
        Register("ISR", 0x044, Access.P_RW, Sticky.W1C, "Events. Levels (see Event) ignore the clear.", Event),
        Register(
            "WAIT",
            0x048,
            Access.P_RW,
            Sticky.ACTION,
            "Write a mask: the processor stalls until ISR & mask is nonzero; a mask of 0 does not stall. Reads ISR & last mask.",
            Event,
        ),
        Register(
            "HOST_IRQ_MASK", 0x04C, Access.BOTH, Sticky.PLAIN, "The NIC's irq output is ISR & this, or-reduced.", Event
        ),
        Register(
            "DOORBELL",
            0x050,
            Access.BOTH,
            Sticky.W1C,
            "A host write ors its bits in, a processor write clears the bits it names. Nonzero is Event.DOORBELL.",
        ),
        Register(
            "HOST_SIGNAL",
            0x054,
            Access.BOTH,
            Sticky.W1C,
            "The mirror image: the processor ors in, the host clears. Nonzero is Event.HOST_SIGNAL.",
        ),
        *[
            Register(
                f"SCRATCH{i}",
                0x060 + 4 * i,
                Access.BOTH,
                Sticky.PLAIN,
                "Meaning is the firmware's.",
            )
            for i in range(8)
        ],
    ]


def _time_and_trap() -> list[Register]:
    return [
        Register(
            "CYCLES",
            0x080,
            Access.RO,
            Sticky.VIEW,
            "Processor cycles since power-up, modulo 2**32. Reset does not clear it.",
        ),
        Register(
            "TIMER",
            0x084,
            Access.P_RW,
            Sticky.ACTION,
            "Write a nonzero cycle: Event.TIMER once CYCLES has reached it (modulo 2**32, so at most 2**31-1 ahead), then it reads 0. 0 disarms.",
        ),
        Register("TRAP_CAUSE", 0x0A0, Access.RO, Sticky.VIEW, "Why the processor stopped; 0 while it has not."),
        Register("TRAP_PC", 0x0A4, Access.RO, Sticky.VIEW, "Address of the instruction that stopped it."),
    ]


def _host_dma() -> list[Register]:
    return [
        Register(
            "HDMA_HOST", 0x100, Access.P_RW, Sticky.PLAIN, "Next descriptor: host bus byte address. Kept after START."
        ),
        Register(
            "HDMA_LOCAL", 0x104, Access.P_RW, Sticky.PLAIN, "Next descriptor: SRAM byte address. Kept after START."
        ),
        Register(
            "HDMA_LENGTH",
            0x108,
            Access.P_RW,
            Sticky.PLAIN,
            "Next descriptor: bytes, any number; 0 completes at once. Kept after START.",
        ),
        Register(
            "HDMA_START",
            0x10C,
            Access.PW | Access.PR,
            Sticky.ACTION,
            "Queues the descriptor. Descriptors run in order. One that leaves the SRAM or the host bus's 32 bits, or names no one direction, moves "
            "nothing and completes with an error. With a full queue the write is dropped and counted. Reads 0.",
            HostDmaStart,
        ),
        Register("HDMA_STATUS", 0x110, Access.RO, Sticky.VIEW, "Free entries, BUSY, ERROR.", Status),
        Register(
            "HDMA_DONE",
            0x114,
            Access.RO,
            Sticky.VIEW,
            "Descriptors completed, with or without error, modulo 2**32: their last byte is where it should be.",
        ),
        Register(
            "HDMA_POINTER",
            0x118,
            Access.RO,
            Sticky.VIEW,
            "SRAM address up to which the running (else the last) descriptor has written, or towards the host read.",
        ),
    ]


def _send_dma() -> list[Register]:
    return [
        Register(
            "SEND_ROUTE",
            0x140,
            Access.P_RW,
            Sticky.PLAIN,
            "Next descriptor: 4 route bytes, 0x80 | port each, the next hop on top; unused ones 0. Kept after START.",
        ),
        Register(
            "SEND_POINTER",
            0x144,
            Access.P_RW,
            Sticky.PLAIN,
            "Next descriptor: SRAM address; bits 0 and 1 are ignored. Kept after START.",
        ),
        Register(
            "SEND_LENGTH",
            0x148,
            Access.P_RW,
            Sticky.PLAIN,
            "Next descriptor: bytes; the wire carries whole words, so the last one may hold up to 3 bytes more. 0 sends no word. Kept after START.",
        ),
        Register(
            "SEND_START",
            0x14C,
            Access.PW | Access.PR,
            Sticky.ACTION,
            "Queues the descriptor. A packet is FIRST .. LAST, over one or more descriptors. One that leaves the SRAM sends no word, takes no"
            " credit and spoils the packet's CRC. With a full queue the write is dropped and counted. Reads 0.",
            SendStart,
        ),
        Register("SEND_STATUS", 0x150, Access.RO, Sticky.VIEW, "Free entries, BUSY, LINK_UP.", Status),
        Register(
            "SEND_DONE",
            0x154,
            Access.RO,
            Sticky.VIEW,
            "Descriptors whose last word has been read from SRAM, modulo 2**32.",
        ),
        Register(
            "SEND_CREDIT",
            0x158,
            Access.P_RW,
            Sticky.ACTION,
            "Bytes that chasing sends may take: FEED transfers add, CHASE sends take, a write adds its (signed) value. Host DMA into, and sends "
            "out of, one chain of memory must run in the same order. A failed FEED descriptor adds the rest of its length, or 2**21 - 1 if that is "
            "less, and spoils the CRC of the chasing packet: no send waits for bytes that cannot come.",
        ),
    ]


def _receive_dma() -> list[Register]:
    return [
        Register(
            "RECV_POINTER",
            0x180,
            Access.P_RW,
            Sticky.PLAIN,
            "Next buffer: first SRAM address; word aligned. Kept after posting.",
        ),
        Register(
            "RECV_LIMIT",
            0x184,
            Access.P_RW,
            Sticky.ACTION,
            "Writing posts the buffer [RECV_POINTER, this); word aligned. Buffers serve packets in order, one each, from their start. With none "
            "posted the packet waits on the wire. One that leaves the SRAM or ends before it starts is refused and counted, as is one too many.",
        ),
        Register(
            "RECV_COUNT",
            0x188,
            Access.RO,
            Sticky.VIEW,
            "Bytes written so far of the packet now arriving; 0 between packets.",
        ),
        Register(
            "RECV_CURRENT",
            0x18C,
            Access.RO,
            Sticky.VIEW,
            "Start of the buffer that the arriving packet fills (RECV_STATUS.BUSY).",
        ),
        Register(
            "RECV_WATERMARK",
            0x190,
            Access.P_RW,
            Sticky.PLAIN,
            "Event.RECV_PROGRESS is RECV_COUNT >= this, while BUSY; 0 is never.",
        ),
        Register("RECV_STATUS", 0x194, Access.RO, Sticky.VIEW, "Free buffer entries, BUSY, CHECKED, LINK_UP.", Status),
        Register(
            "RECV_LENGTH",
            0x198,
            Access.RO,
            Sticky.VIEW,
            "Oldest finished packet: bytes in its buffer, a multiple of 4.",
        ),
        Register("RECV_BUFFER", 0x19C, Access.RO, Sticky.VIEW, "Oldest finished packet: start of its buffer."),
        Register(
            "RECV_VERDICT",
            0x1A0,
            Access.P_RW,
            Sticky.ACTION,
            "Oldest finished packet: how it fared; 0 means none. Writing anything pops it. While the completion queue is full the next packet "
            "waits on the wire.",
            Verdict,
        ),
        Register("RECV_DONE", 0x1A4, Access.RO, Sticky.VIEW, "Packets finished, modulo 2**32."),
    ]


# Counters, all 32 bits, modulo 2**32, cleared by reset: (name, what one count is). Offsets follow the order; new ones
# go last.
COUNTERS_BASE = 0x200
COUNTERS: tuple[tuple[str, str], ...] = (
    ("SLOTS_HDMA_USED", "slot granted to the host DMA"),
    ("SLOTS_HDMA_WAITED", "slot in which the host DMA asked in vain"),
    ("SLOTS_PIO_USED", "slot granted to host PIO"),
    ("SLOTS_PIO_WAITED", "slot in which host PIO asked in vain"),
    ("SLOTS_RECV_USED", "slot granted to the receive DMA"),
    ("SLOTS_RECV_WAITED", "slot in which the receive DMA asked in vain"),
    ("SLOTS_SEND_USED", "slot granted to the send DMA"),
    ("SLOTS_SEND_WAITED", "slot in which the send DMA asked in vain"),
    ("SLOTS_CPU_USED", "slot granted to the processor"),
    ("SLOTS_CPU_WAITED", "slot in which the processor asked in vain"),
    ("BUS_BURSTS", "host bus burst begun by the NIC as master"),
    ("BUS_BEATS", "word moved on the host bus by the NIC as master"),
    ("PIO_READS", "word read by the host"),
    ("PIO_WRITES", "word written by the host"),
    ("DOORBELLS", "host write to DOORBELL"),
    ("TX_PACKETS", "TAIL sent"),
    ("TX_FLITS", "flit sent, control symbols included"),
    ("TX_STOPPED", "slot in which a flit was held by STOP"),
    ("TX_DROPPED", "flit discarded because the link is down"),
    ("RX_PACKETS", "packet finished with a sound verdict"),
    ("RX_FLITS", "flit received, control symbols included"),
    ("RX_STOPS", "STOP raised by the receiver"),
    ("RX_CRC_ERRORS", "packet with a wrong CRC"),
    ("RX_TRUNCATED", "packet without its TAIL"),
    ("RX_OVERRUNS", "packet longer than its buffer"),
    ("RX_MISROUTED", "packet dropped: its HEAD still names a hop"),
    ("RX_STRAYS", "flit dropped: outside a packet"),
    ("RX_OVERFLOWS", "flit lost because the sender ignored STOP"),
    ("LINK_DOWNS", "loss of the link's carrier"),
    ("RX_TIMEOUTS", "packet dropped because no buffer came in time"),
    ("HDMA_ERRORS", "host DMA descriptor refused or failed"),
    ("SEND_ERRORS", "send descriptor refused"),
    ("RECV_REFUSED", "receive buffer refused"),
    ("QUEUE_OVERFLOWS", "descriptor or buffer dropped because its queue was full"),
    ("PIO_FAULTS", "PIO access outside the map, or partial write to a register"),
    ("LBUS_FAULTS", "access beyond the SRAM by a processor that does not trap on it, as the Lanai does"),
)


def _counters() -> list[Register]:
    return [
        Register(name, COUNTERS_BASE + 4 * i, Access.RO, Sticky.VIEW, f"Counts: {what}.")
        for i, (name, what) in enumerate(COUNTERS)
    ]


def in_order(registers: Iterable[Register]) -> tuple[Register, ...]:
    """The registers by ascending offset, in whatever order they are declared. Raises ValueError if two share a name or an offset."""
    ordered = sorted(registers, key=lambda register: register.offset)
    names: dict[str, Register] = {}
    for before, register in zip([None, *ordered], ordered, strict=False):
        if before is not None and before.offset == register.offset:
            raise ValueError(f"{before.name} and {register.name} are both declared at offset {register.offset:#x}")
        if register.name in names:
            raise ValueError(
                f"{register.name} is declared twice, at offsets {names[register.name].offset:#x} and {register.offset:#x}"
            )
        names[register.name] = register
    return tuple(ordered)


REGISTERS: tuple[Register, ...] = in_order(
    _identity() + _control() + _time_and_trap() + _host_dma() + _send_dma() + _receive_dma() + _counters()
)
BY_NAME: dict[str, Register] = {register.name: register for register in REGISTERS}
BY_OFFSET: dict[int, Register] = {register.offset: register for register in REGISTERS}


def offset(name: str) -> int:
    """Byte offset of a register in its block."""
    try:
        return BY_NAME[name].offset
    except KeyError:
        raise KeyError(f"no register is called {name!r}; see lanai_hdl.machine.REGISTERS") from None


def local_address(name: str) -> int:
    """Where the processor reaches a register."""
    return REGISTERS_LOCAL + offset(name)


def host_offset(name: str) -> int:
    """Where the host reaches a register in its PIO window."""
    return REGISTERS_HOST + offset(name)
