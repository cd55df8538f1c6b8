"""The port by which the adapter's parts ask for bus addresses."""

from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from ..machine import PAGE_SIZE
from .packets import Status
from .tables import EXPOSURES, NIBBLE

OFFSET_BITS = (PAGE_SIZE - 1).bit_length()
LENGTH_BITS = OFFSET_BITS + 1
PROCESS_BITS = 4  # of an exposure number in a packet; those above `processes` have no exposures


class Need(enum.Enum, shape=3):
    """The right that an access needs."""

    OWN = 0  # the process's own memory: no key and no right are asked for
    READ = 1
    WRITE = 2
    ATOMIC = 3
    FLAGS = 4  # page 0 of the process's page table: neither an exposure nor a range
    APPEND = 5
    SEND = 6  # of adapters with `match_cells`


class BusWindow(data.Struct):
    """The bus addresses of a process: those with `nibble` on top, if `valid`."""

    nibble: NIBBLE
    valid: 1


class LookupPort(wiring.Signature):
    """A client's port, seen from the client.

    The question, from `start` on until `done`: `length` bytes (not 0) at byte `offset` of
    `exposure` of process `owner`. The answer, in the one slot of `done`: `status`; if that is OK,
    the first byte's bus `address`, whether the exposure is `little`, and whether what is appended
    to it `signals`. It comes 4 slots after `start`, or once it is `wanted`. If the
    exposure is walked it comes 5 slots later, and later still if host memory must be read.
    """

    def __init__(self):
        super().__init__(
            {
                "start": Out(1),
                "owner": Out(PROCESS_BITS),
                "exposure": Out(range(EXPOSURES)),
                "need": Out(Need),
                "key": Out(16),
                "offset": Out(32),
                "length": Out(LENGTH_BITS),
                "wanted": Out(1),
                "done": In(1),
                "status": In(Status),
                "address": In(32),
                "little": In(1),
                "signals": In(1),
            }
        )
