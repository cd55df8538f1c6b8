"""The BIP firmware: turns through receiving, sending and reporting. No step of a turn waits."""

from lanai_firmware.lang import Const, firmware, u32

from ...nic import events
from ...nic.registers import EVENT_DOORBELL, EVENT_HDMA, EVENT_HDMA_ERROR, EVENT_RECV, EVENT_SEND, SCRATCH0
from .layout import READY
from .receiving import DEALT, NOTHING, post_buffers, receive
from .reporting import begin, note_failures, report
from .sending import fetch, launch, send_short, write_heads

READY_WORD: Const[u32] = u32(READY)
ENGINES: Const[u32] = u32(int(EVENT_HDMA) | int(EVENT_SEND))
ALWAYS: Const[u32] = u32(int(ENGINES) | int(EVENT_HDMA_ERROR) | int(EVENT_DOORBELL))


@firmware
def main() -> None:
    write_heads()
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
        begin()
    note_failures()
    awaited = ALWAYS
    outcome = receive()
    while outcome == DEALT:
        outcome = receive()
    if outcome == NOTHING:
        awaited |= EVENT_RECV
    while send_short():
        pass
    while fetch():
        pass
    while launch():
        pass
    post_buffers()
    report()
    events.wait(awaited)
