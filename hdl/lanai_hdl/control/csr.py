"""Identity, control, events, doorbells, time: the registers that belong to no engine."""

from enum import IntFlag

from ..csr.declare import Access, AllEvents, Behavior, Counter, EventBit, Register, RegisterBlock


class Features(IntFlag):
    """FEATURES."""

    CHASE = 1 << 0  # sends may chase the host DMA (FEED, CHASE)
    FOLLOW = 1 << 1  # host DMA may follow the receive DMA
    CHECK = 1 << 2  # packets may carry CHECK flits
    CACHE = 1 << 3  # instruction cache present


class Control(IntFlag):
    """CONTROL."""

    RUN = 1 << 0  # 0 holds the processor in reset
    RESET = 1 << 1  # resets all of the NIC but the SRAM; reads as 0


def _word(name, offset, doc, fields=None):
    return Register(name, offset, Access.RO, Behavior.FIXED, doc, fields)


IDENTITY = RegisterBlock(
    "Identity and configuration",
    (
        _word("ID", 0x000, 'MACHINE_ID, "LANA".'),
        _word("VERSION", 0x004, "MACHINE_VERSION: major in the upper half, minor in the lower."),
        _word("FEATURES", 0x008, "What this NIC was built with.", Features),
        _word("SRAM_SIZE", 0x00C, "Bytes of SRAM."),
        _word("SLOT_KHZ", 0x010, "LBUS slots per millisecond; a processor cycle is two slots."),
        _word("LINK_KBYTES", 0x014, "Link rate each way, kB/s."),
        _word("LINK_LATENCY", 0x018, "Slots of one-way link latency that the receiver's slack is sized for."),
        _word("HOST_BUS_KHZ", 0x01C, "Host bus clock, kHz."),
        _word("HOST_BUS_BITS", 0x020, "Host bus width, bits."),
        _word(
            "QUEUE_DEPTHS",
            0x024,
            "Entries, a byte each from the top: host DMA, send DMA, receive buffers, completions.",
        ),
        _word("RX_FIFO", 0x028, "Flits of the link receiver's FIFO."),
        _word("MAX_BURST", 0x02C, "Longest host bus burst, bytes."),
    ),
)


CONTROL = RegisterBlock(
    "Control and events",
    (
        Register("CONTROL", 0x040, Access.H_RW, Behavior.COMMAND, "Run and reset.", Control),
        Register("ISR", 0x044, Access.P_RW, Behavior.W1C, "Events. Levels (see Event) ignore the clear.", AllEvents),
        Register(
            "WAIT",
            0x048,
            Access.P_RW,
            Behavior.COMMAND,
            "Write a mask: the processor stalls until ISR & mask is nonzero; a mask of 0 does not stall. "
            "Reads ISR & last mask.",
            AllEvents,
        ),
        Register(
            "HOST_IRQ_MASK",
            0x04C,
            Access.BOTH,
            Behavior.STORAGE,
            "The NIC's irq output is ISR & this, or-reduced.",
            AllEvents,
            forwarded=True,
        ),
        Register(
            "DOORBELL",
            0x050,
            Access.BOTH,
            Behavior.W1C,
            "A host write ors its bits in, a processor write clears the bits it names. Nonzero is Event.DOORBELL.",
            set_by=Access.HW,
        ),
        Register(
            "HOST_SIGNAL",
            0x054,
            Access.BOTH,
            Behavior.W1C,
            "The mirror image: the processor ors in, the host clears. Nonzero is Event.HOST_SIGNAL.",
            set_by=Access.PW,
        ),
        *(
            Register(f"SCRATCH{i}", 0x060 + 4 * i, Access.BOTH, Behavior.STORAGE, "Meaning is the firmware's.")
            for i in range(8)
        ),
    ),
    events=(
        EventBit("DOORBELL", 6, "DOORBELL is nonzero", level=True),
        EventBit("BUS_ERROR", 9, "PIO or LBUS access outside the map, full queue, refused descriptor or buffer"),
        EventBit("HOST_SIGNAL", 10, "HOST_SIGNAL is nonzero", level=True),
    ),
    counters=(
        Counter("DOORBELLS", 0x238, "host write to DOORBELL"),
        Counter("QUEUE_OVERFLOWS", 0x284, "descriptor or buffer dropped because its queue was full"),
    ),
)

TIME = RegisterBlock(
    "Time",
    (
        Register(
            "CYCLES",
            0x080,
            Access.RO,
            Behavior.VIEW,
            "Processor cycles since power-up, modulo 2**32. Reset does not clear it.",
        ),
        Register(
            "TIMER",
            0x084,
            Access.P_RW,
            Behavior.TRIGGER,
            "Write a nonzero cycle: Event.TIMER once CYCLES has reached it (modulo 2**32, so at most 2**31-1 ahead), "
            "then it reads 0. 0 disarms.",
            forwarded=True,
            cleared=True,
        ),
    ),
    events=(EventBit("TIMER", 7, "CYCLES has reached TIMER"),),
)
