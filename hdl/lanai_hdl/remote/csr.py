"""The adapter's registers, events and counters."""

from ..csr.declare import Access, Behavior, Counter, EventBit, Register, RegisterBlock

ENABLE = 1 << 0  # of REMOTE_CONTROL
ALONE = 1 << 1
NUMBER_SHIFT = 8  # ... where the NIC's own number begins
WINDOW_VALID = 1 << 4  # of REMOTE_WINDOW
OPENING = 1 << 30  # of REMOTE_LOST
PEER_LOST = 1 << 29
RARE = 16  # bits of the counters of what goes wrong, and of misses

REMOTE = RegisterBlock(
    "Remote-memory adapter",
    (
        Register(
            "REMOTE_CONTROL",
            0x300,
            Access.BOTH,
            Behavior.STORAGE,
            "Bit 0 enables the adapter. Bit 1: its peers may have been reset more or less often than this "
            "NIC. Bits 8 to 15 are this NIC's number.",
        ),
        Register(
            "REMOTE_TIMEOUT",
            0x304,
            Access.BOTH,
            Behavior.STORAGE,
            "Bits 0 to 23: slots without an answer until requests are sent again. Bits 24 to 31: how often, "
            "before the peer is lost.",
        ),
        Register(
            "REMOTE_PEER",
            0x308,
            Access.BOTH,
            Behavior.TRIGGER,
            "The NIC whose route is written next, or that is asked for in REMOTE_LOST.",
        ),
        Register(
            "REMOTE_ROUTE", 0x30C, Access.BOTH, Behavior.COMMAND, "Sets the route to REMOTE_PEER, as SEND_ROUTE has it."
        ),
        Register(
            "REMOTE_PROCESS", 0x310, Access.BOTH, Behavior.STORAGE, "The process whose bus window is written next."
        ),
        Register(
            "REMOTE_WINDOW",
            0x314,
            Access.BOTH,
            Behavior.COMMAND,
            "Sets the bus window of REMOTE_PROCESS. Bits 0 to 3: upper bits of its bus addresses. Bit 4: it "
            "has a window.",
        ),
        Register(
            "REMOTE_LOST",
            0x318,
            Access.RO,
            Behavior.VIEW,
            "The number of the peer that was lost last; bit 31: one was. Bit 29: the peer of REMOTE_PEER is lost, "
            "until a session with it opens. Bits 8 to 11: the number of this boot's first session. Bit 30: a "
            "session that was asked for has not begun.",
        ),
        Register(
            "REMOTE_OPEN",
            0x31C,
            Access.BOTH,
            Behavior.COMMAND,
            "Begins a new session with the peer of this number, which is lost no more, once all requests "
            "before have ended.",
        ),
    ),
    events=(
        EventBit("REMOTE_LOST", 13, "a peer of the remote-memory adapter has not answered"),
        EventBit("REMOTE_SIGNAL", 15, "a record has been appended to a FIFO whose exposure says that this interrupts"),
    ),
    counters=(
        Counter("REMOTE_COMMANDS", 0x340, "command of the host begun"),
        Counter("REMOTE_PACKETS", 0x344, "request sent, repeated ones included"),
        Counter("REMOTE_REPLIES", 0x348, "reply sent"),
        Counter("REMOTE_SERVED", 0x34C, "request carried out"),
        Counter("REMOTE_ATOMICS", 0x350, "atomic carried out"),
        Counter(
            "REMOTE_REFUSED",
            0x354,
            "request refused: exposure, key, right, range, page, alignment, host, no room in a FIFO",
        ),
        Counter("REMOTE_TIMEOUTS", 0x358, "time in which no answer came; requests were sent again"),
        Counter("REMOTE_DUPLICATES", 0x35C, "request that had been carried out before; its answer was repeated"),
        Counter("REMOTE_AHEAD", 0x360, "request dropped: one before it is missing, or it is too old", RARE),
        Counter("REMOTE_STALE", 0x364, "reply dropped: nothing waits for it", RARE),
        Counter("REMOTE_MALFORMED", 0x368, "packet dropped: unknown op, unknown source, wrong length", RARE),
        Counter("REMOTE_DAMAGED", 0x36C, "packet dropped: wrong CRC, truncated, too long", RARE),
        Counter("REMOTE_NO_ROOM", 0x370, "request dropped: no room for its answer", RARE),
        Counter(
            "REMOTE_READS_REFUSED",
            0x374,
            "READ that was carried out but not answered with data: as REMOTE_REFUSED",
            RARE,
        ),
        Counter("REMOTE_INVALID", 0x378, "command that means nothing", RARE),
        Counter("REMOTE_FAILED", 0x37C, "request whose own memory could not be read; a NOP was sent", RARE),
        Counter("REMOTE_FAULTS", 0x380, "write to the adapter's part of the host's window that means nothing", RARE),
        Counter("REMOTE_TLB_MISSES", 0x384, "page of a walked exposure read from host memory", RARE),
    ),
)
MATCHING = RegisterBlock(
    "Matching in the remote-memory adapter",
    counters=(
        Counter("REMOTE_PLACED", 0x388, "message written to the buffer of the receive that fits"),
        Counter("REMOTE_RECORDED", 0x38C, "message that has become a record"),
        Counter("REMOTE_LEFT", 0x390, "message that found no cell: its process matches it"),
        Counter("REMOTE_ASKED", 0x394, "slot of a process served"),
    ),
)
COLLECTIVES = RegisterBlock(
    "Collectives in the remote-memory adapter",
    counters=(
        Counter("REMOTE_TAKEN", 0x398, "value of another member taken by a collective"),
        Counter("REMOTE_PASSED", 0x39C, "collective that has ended well, or a group cleared"),
    ),
)
