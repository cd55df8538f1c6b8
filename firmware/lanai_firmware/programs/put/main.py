"""The put firmware: turns through receiving, answering, sending and reporting. No step of a turn
waits."""

from lanai_firmware.lang import Const, firmware, u32

from ...nic import events
from ...nic.registers import EVENT_DOORBELL, EVENT_HDMA, EVENT_HDMA_ERROR, EVENT_RECV, EVENT_SEND, SCRATCH0
from .answering import answer
from .layout import READY
from .receiving import DEALT, NOTHING, post_buffers, receive
from .reporting import note_failures, report
from .sending import begin, launch

READY_WORD: Const[u32] = u32(READY)
ENGINES: Const[u32] = u32(int(EVENT_HDMA) | int(EVENT_SEND))
ALWAYS: Const[u32] = u32(int(ENGINES) | int(EVENT_HDMA_ERROR) | int(EVENT_DOORBELL))


@firmware
def main() -> None:
    post_buffers()
    SCRATCH0.store(READY_WORD)
    while True:
        turn()


@firmware
def turn() -> None:
    """Do what can be done, then wait for an event."""
    events.clear(ENGINES)
    if events.rung() != 0:
        events.answer(1)
    awaited = ALWAYS
    note_failures()
    post_buffers()
    outcome = receive()
    while outcome == DEALT:
        outcome = receive()
    if outcome == NOTHING:
        awaited |= EVENT_RECV
    while answer():
        pass
    while begin():
        pass
    while launch():  # behind `begin`: a packet from a request's own words is complete at once and raises no event
        pass
    report()
    events.wait(awaited)
