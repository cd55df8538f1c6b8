"""Events, the doorbell, and waiting for them."""

from lanai_firmware.lang import inline, u32

from .registers import DOORBELL, ISR, WAIT


@inline
def pending() -> u32:
    """Events that have happened. Those of levels, such as EVENT_RECV, go when their cause does."""
    return ISR.load()


@inline
def clear(events: u32) -> None:
    """Forget these. What happens from here on shows again."""
    ISR.store(events)


@inline
def wait(events: u32) -> None:
    """Stop until one of these is pending."""
    WAIT.store(events)


@inline
def rung() -> u32:
    """Bits that the host has set in the doorbell."""
    return DOORBELL.load()


@inline
def answer(bits: u32) -> None:
    """Clear bits of the doorbell."""
    DOORBELL.store(bits)
