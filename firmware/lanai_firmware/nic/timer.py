"""The timer: EVENT_TIMER after some time."""

from lanai_firmware.lang import inline, u32

from .registers import CYCLES, TIMER


@inline
def now() -> u32:
    """Processor cycles since the reset, modulo 2**32."""
    return CYCLES.load()


@inline
def start(cycles: u32) -> None:
    """EVENT_TIMER comes after `cycles` processor cycles, or one more: the timer is off at 0, so its
    bit 0 is always set.
    """
    TIMER.store((CYCLES.load() + cycles) | 1)
