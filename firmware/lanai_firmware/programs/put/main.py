"""The put firmware: turns through sending, receiving and reporting. No step of a turn waits."""

from lanai_firmware.lang import firmware, u32

from ...nic.registers import (
    DOORBELL,
    EVENT_DOORBELL,
    EVENT_HDMA,
    EVENT_RECV,
    EVENT_SEND,
    ISR,
    SCRATCH0,
    WAIT,
)
from .layout import READY
from .receiving import DEALT, NOTHING, post_buffers, receive
from .reporting import report
from .sending import begin, launch

READY_WORD = u32(READY)
DONE = u32(int(EVENT_HDMA) | int(EVENT_SEND))


@firmware
def main() -> None:
    post_buffers()
    SCRATCH0.store(READY_WORD)
    while True:
        ISR.store(DONE)
        if DOORBELL.load():
            DOORBELL.store(u32(1))
        awaited = DONE | EVENT_DOORBELL
        post_buffers()
        outcome = receive()
        while outcome == DEALT:
            outcome = receive()
        if outcome == NOTHING:
            awaited |= EVENT_RECV
        while begin():
            pass
        while launch():  # behind `begin`: a packet from a request's own words is complete at once, and no event tells
            pass
        report()
        WAIT.store(awaited)
