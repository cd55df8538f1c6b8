"""The report of the self-test: its bits and registers, for the firmware that writes it and the host
that reads it."""

from enum import IntEnum


class Report(IntEnum):
    """Bits of SCRATCH7. A test's bit is set once it has passed; DONE once all have run. SWITCH: the packet of LINK came
    back by the board's switch, as the link is not looped back."""

    SRAM = 1
    LINK = 2
    HOST_DMA = 4
    SWITCH = 8
    DONE = 64


# What the host leaves for the self-test.
REQUEST_REGISTER = (
    "SCRATCH6"  # bus address of 2 * TEST_BYTES of host memory for the host DMA test, or 0: do not test it
)
GO_REGISTER = "SCRATCH5"  # nonzero: begin
REPORT_REGISTER = "SCRATCH7"
DETAIL_REGISTER = "SCRATCH4"  # SRAM address of the first word found wrong, 0 if none
TEST_BYTES = 32
