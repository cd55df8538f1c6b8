"""Formats of the packets between the adapters of two NICs. Gateware, reference model and tests take the
formats from here.

A request has four words and then its data; a reply has two words and then its data. Data lie in
their words as they will lie in the words of the memory that they are written to.
"""

from enum import IntEnum

from ..words import Word

MARK = 0xE  # upper half of the first byte of every packet; no packet of the firmware begins with it
FIRST_BYTES = tuple(range(MARK << 4, (MARK + 1) << 4))
WINDOW = 16  # requests that may be outstanding, of all peers together
MOST_PEERS = 256
SESSION_BITS = 4
BOOT_BITS = 4  # the lower bits of a boot's number, and a 1 above them; 0: not known
REQUEST_WORDS = 4
REPLY_WORDS = 2
ATOMIC_BYTES, WIDE_BYTES = 4, 8  # what an ATOMIC may change


class Op(IntEnum):
    """The operation of a request, or the kind of a reply."""

    NOP = 0  # takes a sequence number and nothing else: stands in for a request that failed at its source, see `VOID`
    WRITE = 1  # data follow
    READ = 2
    ATOMIC = 3  # operand and comparand follow; if its length is 8, then their upper halves
    APPEND = 4  # data for a FIFO follow; the offset is that of its control words
    RETRY = 5  # an APPEND that a FIFO takes although it refuses, if there is room
    QUIET = 6  # an APPEND that is answered only if it is refused; of adapters that are built for it (`quiet`)
    SEND = 7  # a message that is matched with receives; of adapters that are built for it (`match_cells`)
    ACK = 8  # `Status` of a request
    DATA = 9  # what a READ asked for, or the value before an ATOMIC
    COLLECT = 10  # a value for a collective (`groups`); of adapters that are built for it


class Atomic(IntEnum):
    """The operation of an ATOMIC on the number of 32 or 64 bits at its address. The answer is the
    value before, its lower half first."""

    SWAP = 0
    ADD = 1
    CAS = 2  # the operand replaces the word if that equals the comparand
    AND = 3
    OR = 4
    XOR = 5


class Order(IntEnum):
    """The order in which a WRITE takes effect, among the requests of its sender, and what depends on it. It
    is in the field `atomic`, and in that of the NOP in its place."""

    IN_TURN = 0
    RELAXED = 1  # as soon as it has come, also before those that were sent before it
    BOUND = 2  # if it is refused, so is the next CONDITIONAL record of its process
    RELAXED_BOUND = 3


class Condition(IntEnum):
    """The dependence of an APPEND or RETRY on writes before it, in its field `atomic`. The bits are
    not those of `Order`: a NOP in its place is in turn, and nothing depends on it."""

    NONE = 0
    CONDITIONAL = 4  # it is refused if a BOUND one was, of its process, since the last such record


class Status(IntEnum):
    """The end of a command or a request."""

    OK = 0
    EXPOSURE = 1  # the exposure is not valid
    KEY = 2  # the key differs
    RIGHT = 3  # the exposure does not give the right
    RANGE = 4  # bytes outside the exposure, or a packet across a page boundary
    PAGE = 5  # the page is outside the bus window of the process that owns it
    BUS = 6  # the host refused the access
    ALIGNMENT = 7  # an ATOMIC not at a multiple of its size, or a FIFO's control words not at one of 4
    LOST = 8  # the peer has not answered
    INVALID = 9  # a command that means nothing: unknown op, no such peer
    FULL = 10  # the FIFO has no room, or refuses since it had none
    BEFORE = 11  # a BOUND write before a CONDITIONAL record was refused, or a SEND before this one
    SESSION = 12  # of a packet only: the receiver is not in the boot that the request names
    VOID = 13  # of a packet only: the request came first as a NOP, so it was not carried out
    MIXED = 14  # of a collective only: members gave it two names


class RequestWord(Word):
    """First word of a packet. `sequence` numbers the requests from one NIC to another; a reply
    repeats it."""

    sequence: 16
    source: 8  # number of the NIC that sends the packet
    op: Op
    mark: 4


class TargetWord(Word):
    """Second word of a request. `session` numbers the sessions of the sender."""

    key: 16
    exposure: 8  # of the target NIC
    entry: 4  # of the sender's window; the reply repeats it
    session: 4  # the reply repeats it


class SizeWord(Word):
    """Third word of a request. The fourth is the byte offset in the exposure."""

    length: 12  # bytes; 4 or 8 of an ATOMIC
    boot: 4  # of the receiver, as the sender knows it; the reply repeats it
    align: 2  # of a READ: lower bits of the address that the data will be written to
    atomic: Atomic  # of a WRITE: `Order`, of an APPEND: `Condition`
    node: 8  # the NIC and the process whose command the request is part of
    process: 3


class ReplyWord(Word):
    """Second word of a reply. `own_boot` and below are what a sender learns from `Status.SESSION`."""

    status: Status
    own_boot: 4  # of the NIC that replies
    kept: 4  # the session of the request's sender that it knows
    keeps: 1  # it knows one
    vouches: 1  # all QUIET requests before this one, and not answered, have ended well
    _reserved: 6
    boot: 4
    entry: 4
    session: 4


def appends(op):
    """Return 1 if an op, a signal, adds a record to a FIFO."""
    return (op == Op.APPEND) | (op == Op.RETRY)


def relaxed(op, atomic):
    """Return 1 if a request, or what is kept of it, may take effect out of turn."""
    return (op <= Op.WRITE) & atomic[0]


def conditional(op, atomic):
    """Return 1 if a request is a record that must not follow a BOUND write that was refused."""
    return appends(op) & atomic[2]


def fails_bound(op, atomic, status):
    """Return 1 if a request that ended so is a BOUND write that was refused or failed at its source."""
    return (op <= Op.WRITE) & atomic[1] & ((op == Op.NOP) | (status != Status.OK))


def newer(session, other):
    """Return 1 if a session is later than another one of the same NIC, by at most half of all numbers."""
    ahead = (session - other)[:SESSION_BITS]
    return ahead.any() & ~ahead[-1]


def boot_code(session: int) -> int:
    """Return the number that packets give the boot whose first session has this number."""
    return 1 << (BOOT_BITS - 1) | session % (1 << (BOOT_BITS - 1))


def words_of(offset: int, length: int) -> int:
    """Words that `length` bytes at an address with these lower bits touch."""
    return (offset % 4 + length + 3) // 4


def word(declared: type[Word], **fields: int) -> int:
    """The value of a word with these fields, for software, models and tests."""
    return declared.of(**fields)
