"""The put firmware's turns, and barriers in them."""

from lanai_firmware.lang import Const, firmware, u32

from ...nic import events
from ...nic.registers import EVENT_DOORBELL, EVENT_HDMA, EVENT_HDMA_ERROR, EVENT_RECV, EVENT_SEND, SCRATCH0
from ..put.answering import answer
from ..put.receiving import DEALT, NOTHING, post_buffers, receive
from ..put.reporting import note_failures, report
from ..put.sending import begin, launch
from .barriers import EVENT_BARRIER, arrive, tell
from .layout import READY

READY_WORD: Const[u32] = u32(READY)
ENGINES: Const[u32] = u32(int(EVENT_HDMA) | int(EVENT_SEND) | int(EVENT_BARRIER))
ALWAYS: Const[u32] = u32(int(ENGINES) | int(EVENT_HDMA_ERROR) | int(EVENT_DOORBELL))


@firmware
def main() -> None:
    post_buffers()
    SCRATCH0.store(READY_WORD)
    while True:
        turn()


@firmware
def turn() -> None:
    """Do what can be done, then wait for an event. Barriers come first: they are short."""
    events.clear(ENGINES)
    if events.rung() != 0:
        events.answer(1)
    awaited = ALWAYS
    note_failures()
    tell()
    post_buffers()
    outcome = receive()
    while outcome == DEALT:
        outcome = receive()
    if outcome == NOTHING:
        awaited |= EVENT_RECV
    while answer():
        pass
    while arrive() or begin():
        pass
    while launch():
        pass
    report()
    events.wait(awaited)
