"""Steps that several others take."""

from lanai_firmware.lang import Const, Ptr, at, firmware, inline, u32

from ...nic import window
from .layout import (
    CHANNEL_SHIFT,
    CLOSED,
    IS_PART,
    MARKED,
    NODE_AT,
    NUMBER,
    NUMBER_AT,
    PAGE,
    RINGS_AT,
    WINDOW,
    Word,
)
from .state import nic

FAULTS: Const[u32] = u32(int(Word.FAULTS))


@inline
def word_at(address: u32) -> Ptr[u32]:
    """A word of SRAM."""
    return at(Ptr[u32], address)


@firmware
def fault() -> None:
    """Something failed. The host is told."""
    nic.words[FAULTS] += 1
    nic.changed = 1


@inline
def gone() -> bool:
    """Has the rank ended, or its process died? Its memory may not be reached then."""
    return nic.base == CLOSED


@firmware
def mark_for(node: u32, length: u32, part: u32) -> u32:
    """Return the mark of the next packet to a node. `part`: IS_PART, or 0."""
    number = nic.sent[node]
    nic.sent[node] = number + 1
    mark: u32 = MARKED | part | nic.config.node << NODE_AT | (number & NUMBER) << NUMBER_AT | length
    return mark


@inline
def is_part(mark: u32) -> bool:
    return mark & IS_PART != 0


@firmware
def is_own(page: u32) -> bool:
    """Is this page memory of this NIC's rank?"""
    return window.holds(nic.config.window, WINDOW, page & ~(PAGE - 1), PAGE, PAGE)


@firmware
def is_base(base: u32) -> bool:
    """Is there memory of this NIC's rank from here on for all that the NIC writes?"""
    size = RINGS_AT + (nic.config.nodes << CHANNEL_SHIFT)
    return window.holds(nic.config.window, WINDOW, base, size, ~WINDOW + 1)


@inline
def page_of(page: u32, at: u32) -> u32:
    """The bus address of the byte `at` of a landing or a long send, in a page that a rank named."""
    return page & ~(PAGE - 1) | at & PAGE - 1
