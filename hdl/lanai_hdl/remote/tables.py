"""The tables that software writes into the adapter's part of the host's window, and their address map. Plain
declarations.

Each process of the host has one page of the window: command buffers, its exposures, its page table.
"""

from ..machine import PAGE_SIZE
from ..words import NOTHING, Judged, Names, Word, judged
from .packets import Atomic, Op, ReplyWord, RequestWord, SizeWord, TargetWord

WINDOW_HOST = 0x180000  # offset of process 0's page in the host's window
PROCESS_BYTES = 0x1000  # a page for each process

COMMANDS = 8  # command buffers of a process
COMMAND_WORDS = 8
COMMANDS_AT = 0x000
BUSY_AT = 0x100  # read only: a bit for each command buffer that is in use
IN_USE_AT = 0x104  # read only: `InUseWord`
EXPOSURES = 16  # of a process
EXPOSURE_WORDS = 4
EXPOSURES_AT = 0x200
MAPS_AT = 0x300  # of a process's pages of the aperture
MAP_WORDS = 2
PAGES_AT = 0x800
MOST_PAGES = (PROCESS_BYTES - PAGES_AT) // 4

APERTURE_AT = 0x40000  # offset of the aperture in the adapter's part of the window; as many bytes
APERTURE_PAGES = 8  # of a process, one behind the other; those of process 0 come first
APERTURE_PAGE_BITS = 6  # of the number of a page of any process
APERTURE_WORD_BITS = 10  # of the number of a word in a page

PAGE_BITS = 20  # of a bus page number
DIRECTORY_BITS = 10  # of the number of a word of a directory
DIRECTORY_PAGES = 1 << DIRECTORY_BITS
NIBBLE = 4  # upper bits of a bus page number that name a process's bus window


class CommandWord(Word):
    """Third word of a command. Before it: operand, comparand; behind it: key, offset, length, local
    offset, tag.

    Writing the tag starts the command. Only an ATOMIC needs operand and comparand: the words of any
    other command are written in one run without them. `exposure` is a number of the peer NIC,
    `local` one of the process's own. The length of an ATOMIC does not count; one that is `wide` has
    the upper halves of operand and comparand in the words `OPERAND_HIGH` and `COMPARAND_HIGH`.
    """

    exposure: 8
    local: 4
    _reserved: 4
    op: Op
    atomic: Atomic  # of a WRITE: `Order`, of an APPEND: `Condition`
    wide: 1  # the ATOMIC changes 64 bits
    peer: 8


COMMAND_FIELDS = ("operand", "comparand", "head", "key", "offset", "length", "local_offset", "tag")
OPERAND, COMPARAND = COMMAND_FIELDS.index("operand"), COMMAND_FIELDS.index("comparand")
OPERAND_HIGH, COMPARAND_HIGH = COMMAND_FIELDS.index("length"), COMMAND_FIELDS.index("local_offset")
FIRST_OF_HEAD = COMMAND_FIELDS.index("head")
LAST_OF_HEAD = COMMAND_FIELDS.index("local_offset")  # of the words that say what a command moves
START = COMMAND_FIELDS.index("tag")
TAG_BITS = 24
FLAG_BYTES = 16  # of each command buffer in page 0 of the page table: an ATOMIC's result, and the `FlagWord`
RESULT_AT, WIDE_RESULT_AT = 4, 0  # of 32 bits, of 64 bits
FLAG_AT = 8


class FlagWord(Word):
    """The flag that the adapter writes to host memory when a command has ended: third word of its
    `FLAG_BYTES` in page 0 of the page table.

    Before it stands, as a big-endian number, what the memory held before an ATOMIC; other commands
    leave that as it is.
    """

    status: 8
    tag: TAG_BITS


class InUseWord(Word):
    """The parts of the adapter that may still use what a lookup has allowed: each that is `busy`, until
    that ends or its count moves on."""

    server_busy: 1
    server_count: 7
    sender_busy: 1
    sender_count: 7
    _reserved: 16


class Rights(Word):
    """Last word of an exposure; the others: first byte, end, `PlaceWord`. Writing it makes the
    exposure valid or not."""

    valid: 1
    read: 1
    write: 1
    atomic: 1
    little: 1  # atomics take the word's bytes in little-endian order
    append: 1  # to the FIFOs that lie in it
    signal: 1  # a record that is appended interrupts the host
    messages: 1  # SENDs go to the FIFO whose control words are its first bytes (`messages`)
    _reserved: 24


class PlaceWord(Word):
    """Third word of an exposure."""

    key: 16
    page: 15  # entry of the process's page table that holds the exposure's first page
    walked: 1  # ... or that of the directory of its first `DIRECTORY_PAGES` pages; entries behind it, of the next ones


class DirectoryWord(Word):
    """A word of a directory: a page of the process's own memory that names pages of an exposure."""

    page: PAGE_BITS  # a bus page number
    _reserved: 32 - PAGE_BITS - 1
    valid: 1


class MapWord(Word):
    """First word of the map of a page of the aperture: the exposure, a number of the peer NIC, that
    is written by stores to the page and read by loads from it."""

    exposure: 8
    peer: 8
    valid: 1
    relaxed: 1  # stores to the page are RELAXED
    _reserved: 14


class MapPlaceWord(Word):
    """Second word of a map: the exposure's key, and which of its pages the page is."""

    key: 16
    page: 16


EXPOSURE_FIELDS = ("first", "end", "place", "rights")

assert 4 * DIRECTORY_PAGES == PAGE_SIZE
assert len(COMMAND_FIELDS) == COMMAND_WORDS
assert len(EXPOSURE_FIELDS) == EXPOSURE_WORDS
assert COMMANDS * COMMAND_WORDS * 4 <= BUSY_AT
assert EXPOSURES_AT + EXPOSURES * EXPOSURE_WORDS * 4 <= MAPS_AT
assert MAPS_AT + APERTURE_PAGES * MAP_WORDS * 4 <= PAGES_AT


def command_at(process: int, command: int) -> int:
    """Offset of a command buffer in the host's window."""
    return WINDOW_HOST + process * PROCESS_BYTES + COMMANDS_AT + 4 * COMMAND_WORDS * command


def exposure_at(process: int, exposure: int) -> int:
    return WINDOW_HOST + process * PROCESS_BYTES + EXPOSURES_AT + 4 * EXPOSURE_WORDS * exposure


def page_at(process: int, index: int) -> int:
    return WINDOW_HOST + process * PROCESS_BYTES + PAGES_AT + 4 * index


def in_use_at(process: int) -> int:
    return WINDOW_HOST + process * PROCESS_BYTES + IN_USE_AT


def map_at(process: int, page: int) -> int:
    return WINDOW_HOST + process * PROCESS_BYTES + MAPS_AT + 4 * MAP_WORDS * page


def aperture_at(process: int, page: int) -> int:
    """Offset of a page of a process's part of the aperture."""
    return WINDOW_HOST + APERTURE_AT + ((process * APERTURE_PAGES + page) << (APERTURE_WORD_BITS + 2))


CHECK = "access_check.AccessCheck"
THERE = "at the peer"
FILLED_IN = "the sending adapter fills it in; no process can"
JUDGES: Judged = {
    CommandWord: {
        "exposure": judged(Names.INDEX, CHECK, of=THERE),
        "local": judged(Names.INDEX, CHECK),
        "_reserved": NOTHING,
        "op": NOTHING,
        "atomic": NOTHING,
        "wide": NOTHING,
        "peer": judged(Names.PEER, "command_cutter.CommandCutter"),
    },
    "a command's words": {
        "operand": NOTHING,
        "comparand": NOTHING,
        "head": NOTHING,
        "key": judged(Names.HANDLE, CHECK, of=THERE),
        "offset": judged(Names.ADDRESS, CHECK, of=THERE),
        "length": judged(Names.LENGTH, CHECK, of=f"{THERE}, and here"),
        "local_offset": judged(Names.ADDRESS, CHECK),
        "tag": NOTHING,
    },
    "an exposure's words": "the process, of its own memory: each page of it is judged",
    Rights: "the process, of its own memory",
    PlaceWord: {"key": NOTHING, "page": judged(Names.INDEX, CHECK), "walked": NOTHING},
    "a page table's words": {"page": judged(Names.ADDRESS, CHECK)},
    DirectoryWord: {
        "page": judged(Names.ADDRESS, "walker.Walker", of="directories") + judged(Names.ADDRESS, CHECK, of="pages"),
        "_reserved": NOTHING,
        "valid": NOTHING,
    },
    MapWord: {
        "exposure": judged(Names.INDEX, CHECK, of=THERE),
        "peer": judged(Names.PEER, "aperture.Aperture"),
        "valid": NOTHING,
        "relaxed": NOTHING,
        "_reserved": NOTHING,
    },
    MapPlaceWord: {
        "key": judged(Names.HANDLE, CHECK, of=THERE),
        "page": judged(Names.ADDRESS, CHECK, of=THERE),
    },
    RequestWord: {
        "sequence": judged(Names.INDEX, "receive_order.ReceiveOrder", of="requests", times="carried out once")
        + judged(Names.INDEX, "transport.Transport", of="replies", times="once"),
        "source": judged(Names.PEER, "parse.Parse"),
        "op": NOTHING,
        "mark": NOTHING,
    },
    TargetWord: {
        "key": judged(Names.HANDLE, CHECK),
        "exposure": judged(Names.INDEX, CHECK),
        "entry": NOTHING,  # the sender's: the reply repeats it
        "session": judged(Names.INDEX, "receive_order.ReceiveOrder"),
    },
    SizeWord: {
        "length": judged(Names.LENGTH, "parse.Parse", of="the packet") + judged(Names.LENGTH, CHECK, of="memory"),
        "boot": judged(Names.INDEX, "receive_order.ReceiveOrder"),
        "align": NOTHING,
        "atomic": NOTHING,
        "node": judged(Names.PEER, unjudged=FILLED_IN),
        "process": judged(Names.PEER, unjudged=FILLED_IN),
    },
    "a request's fourth word": {"offset": judged(Names.ADDRESS, CHECK)},
    ReplyWord: {
        "status": NOTHING,
        "own_boot": NOTHING,
        "kept": NOTHING,
        "keeps": NOTHING,
        "vouches": judged(Names.INDEX, "transport.Transport"),
        "_reserved": NOTHING,
        "boot": judged(Names.INDEX, "transport.Transport"),
        "entry": judged(Names.INDEX, "transport.Transport", times="once"),
        "session": judged(Names.INDEX, "transport.Transport"),
    },
    FlagWord: "the adapter",
    InUseWord: "the adapter",
}
