"""Messages that the adapter matches with receives: words, addresses, ends. Plain declarations, and functions.

A SEND is the packet of a record for a FIFO. Its fourth word is an `EnvelopeWord`, its data begin with a
`HeaderWord`. The adapters say who has sent it, not the sender. If a receive that is posted fits and has a buffer
for it, the bytes behind the header go there. Else the packet becomes a record of the process's FIFO for
messages, from its `RecordWord` on. That FIFO's control words are the first bytes of the exposure.

A process asks in slots of its page, four words each: `WantWord`, `NameWord`, an offset or a count, `AskWord`, which
starts it. It is answered in page 0 of its page table, by a receipt of three words: `FromWord`, the number of a record,
`ReceiptWord`, which is written last. Records are numbered from 0 on, in the order of the FIFO.
"""

from enum import IntEnum

from ..words import NOTHING, Judged, Names, Word, judged
from .tables import (
    APERTURE_PAGES,
    CHECK,
    COMMANDS,
    FLAG_BYTES,
    MAP_WORDS,
    MAPS_AT,
    PAGES_AT,
    PROCESS_BYTES,
    TAG_BITS,
    WINDOW_HOST,
)

SLOTS = 32  # of a process
SLOT_BITS = (SLOTS - 1).bit_length()
SLOT_WORDS = 4
SLOTS_AT = 0x400  # in a process's page
RECEIPTS_AT = 0x200  # in page 0 of its page table
RECEIPT_BYTES = FLAG_BYTES  # from one receipt to the next
END_AT = 8  # of the `ReceiptWord` in a receipt
HEADER_BYTES = 4
NUMBER_BITS = 10  # of the number of a record, in a receipt
TAKEN_BITS = 16  # of the number of records that a process has taken
MOST_CELLS = 64


class Again(IntEnum):
    """The field `atomic` of a SEND."""

    NO = 0
    AGAIN = 1  # an earlier one was refused as FULL or BEFORE: this is the oldest of those, and may be taken


class Ask(IntEnum):
    """The things that a process asks in a slot."""

    POST = 1  # a receive takes the oldest message that fits, or waits for one
    PROBE = 2  # ... looks for it
    TAKE = 3  # ... takes it, and does not wait
    CANCEL = 4  # the receive in the slot that is named waits no more
    RESUME = 5  # the process has no message of its own: the NIC keeps messages and receives again
    RESET = 6  # all of the process's messages and receives are forgotten, and records count from 0


class End(IntEnum):
    """The end of what was asked."""

    PLACED = 1  # the message has been written to the receive's buffer
    RECORD = 2  # the message is the record of this number
    NONE = 3  # no message fits; the receive no longer waits; records have come that were not taken
    FULL = 4  # no message of the NIC's fits, and the NIC keeps no more: the process matches
    DONE = 5  # CANCEL, RESUME, RESET


class Fate(IntEnum):
    """The fate of the message in a record."""

    HELD = 0  # the NIC keeps it until a POST or TAKE finds it
    TAKEN = 1  # by the receive in slot `slot`, which has no receipt
    LEFT = 2  # to the process, which matches it


class EnvelopeWord(Word):
    """Fourth word of a SEND, and the word `offset` of its command."""

    _zero: 2
    record: 1  # it becomes a record, also if a receive has a buffer for it
    aside: 1  # it becomes a record that is LEFT, and is no message for any receive
    _reserved: 4
    tag: TAG_BITS


class HeaderWord(Word):
    """First word of a SEND's data."""

    context: 16
    note: 16  # the sender's own


class RecordWord(Word):
    """First word of the record of a SEND: its `SizeWord`, of which the middle says what has become of it."""

    length: 12  # bytes, those of the header included
    slot: SLOT_BITS
    fate: Fate
    _reserved: 2
    node: 8
    process: 3


class WantWord(Word):
    """First word of a slot: the envelope, but for its tag, of the messages that fit."""

    context: 16
    process: 3
    node: 8
    any_source: 1
    any_tag: 1
    _reserved: 3


class NameWord(Word):
    """Second word of a slot. `slot`: that of a CANCEL's receive."""

    slot: 8
    tag: TAG_BITS


class AskWord(Word):
    """Last word of a slot. With `placed` a receive has a buffer: `length` bytes of the process's exposure
    `local`, from the offset in the third word on, a multiple of 4."""

    length: 12
    local: 4
    ask: 3
    placed: 1
    _reserved: 12


class FromWord(Word):
    """First word of a receipt: of a message that is PLACED, its bytes and who has sent it."""

    length: 12
    process: 3
    node: 8
    _reserved: 9


class ReceiptWord(Word):
    """Last word of a receipt. `tag`: of a message that is PLACED."""

    end: 8
    tag: TAG_BITS


def slot_at(process: int, slot: int) -> int:
    """Offset of a slot in the host's window."""
    return WINDOW_HOST + process * PROCESS_BYTES + SLOTS_AT + 4 * SLOT_WORDS * slot


def receipt_at(slot: int) -> int:
    """Offset of a slot's receipt in page 0 of the page table."""
    return RECEIPTS_AT + RECEIPT_BYTES * slot


assert MAPS_AT + APERTURE_PAGES * MAP_WORDS * 4 <= SLOTS_AT
assert SLOTS_AT + SLOTS * SLOT_WORDS * 4 <= PAGES_AT
assert COMMANDS * FLAG_BYTES <= RECEIPTS_AT

STAGE = "match_stage.MatchStage"
JUDGES: Judged = {
    EnvelopeWord: {"_zero": NOTHING, "record": NOTHING, "aside": NOTHING, "_reserved": NOTHING, "tag": NOTHING},
    HeaderWord: {"context": NOTHING, "note": NOTHING},
    RecordWord: "the adapter",
    WantWord: {
        "context": NOTHING,
        "process": NOTHING,
        "node": NOTHING,
        "any_source": NOTHING,
        "any_tag": NOTHING,
        "_reserved": NOTHING,
    },
    NameWord: {"slot": judged(Names.HANDLE, "match.Match"), "tag": NOTHING},
    "a slot's third word": {"offset": judged(Names.ADDRESS, CHECK)},
    AskWord: {
        "length": judged(Names.LENGTH, STAGE),
        "local": judged(Names.INDEX, CHECK),
        "ask": NOTHING,
        "placed": NOTHING,
        "_reserved": NOTHING,
    },
    FromWord: "the adapter",
    ReceiptWord: "the adapter",
}
