"""FIFOs in host memory: their control words, and where records lie. Plain declarations, and
functions.

A FIFO is three control words and a ring of pages, all in one exposure, whose owner's process made
them. The control words are big-endian, and stand next to each other in one page: `TailWord`, which
the adapter writes; the head, a count as in the tail, which the process writes; `RingWord`. The ring
has 1 to 128 pages, a power of two, and begins at a page of the exposure whose number is a multiple
of that.

A record is a `SizeWord` with the number of bytes and who has appended them, the FIFO's offset, and
the bytes; the next one begins at a word. It does not cross a page: where a page has no space for the
longest record, the next one begins at the next page.

The adapter keeps copies of control words (`FifoWords`). Once a record has been appended, the owner
writes no tail and no ring before it has written the exposure again, and only moves the head on.
Nothing else, such as the ring of another FIFO, lies over them.
"""

from ..machine import PAGE_SIZE
from ..words import Word

COUNT_BITS = 20  # of the counts of bytes
MOST_RING_PAGES = 128
RECORD_HEADER = 8  # bytes of a record before its data


class TailWord(Word):
    """`count` bytes have been appended, modulo 2**20. With `refusing` there was no space for a
    record: none but a RETRY is appended."""

    count: COUNT_BITS
    refusing: 1
    _reserved: 11


class RingWord(Word):
    """The place of the ring: its first page in the exposure, and its number of pages less 1."""

    page: 16
    mask: 7
    _reserved: 9


CONTROL_FIELDS = ("tail", "head", "ring")
CONTROL_BYTES = 4 * len(CONTROL_FIELDS)


def record_bytes(length: int) -> int:
    """Return the bytes that a record with `length` bytes of data takes."""
    return RECORD_HEADER + (length + 3) // 4 * 4


def last_start(payload: int) -> int:
    """The last offset in a page at which a record may begin."""
    return PAGE_SIZE - record_bytes(payload)


def after(count: int, length: int, payload: int) -> int:
    """The count behind a record with `length` bytes that begins at `count`."""
    end = count + record_bytes(length)
    if end % PAGE_SIZE > last_start(payload):
        end += PAGE_SIZE - end % PAGE_SIZE
    return end % (1 << COUNT_BITS)
