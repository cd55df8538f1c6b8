"""The daemon of a node (CC-01): it listens to its wire, its ranks and its timer. No step of a turn waits."""

from lanai_firmware.lang import Const, firmware, u32

from ...nic import events, host_dma, timer
from ...nic.registers import (
    EVENT_DOORBELL,
    EVENT_HDMA,
    EVENT_HDMA_ERROR,
    EVENT_RECV,
    EVENT_SEND,
    EVENT_TIMER,
    SCRATCH0,
)
from .dispatch import finish_reads, read_all
from .layout import READY
from .pool import fill_pools
from .receiving import post_buffers, receive
from .reporting import report_all
from .sending import take_all
from .timing import arm, away_for, look
from .transmit import transmit

READY_WORD: Const[u32] = u32(READY)
ENGINES: Const[u32] = u32(int(EVENT_HDMA) | int(EVENT_SEND))
ALL: Const[u32] = u32(int(ENGINES) | int(EVENT_HDMA_ERROR) | int(EVENT_DOORBELL) | int(EVENT_RECV) | int(EVENT_TIMER))


@firmware
def turn() -> None:
    """Look once at everything that may have happened, and do what can be done."""
    away = away_for()
    if away != 0:
        events.clear(EVENT_TIMER)
        timer.start(away)
        events.wait(EVENT_TIMER)
        return
    seen = events.pending()
    events.clear(ENGINES)
    if events.rung() != 0:
        events.answer(1)
    if seen & EVENT_TIMER != 0:
        events.clear(EVENT_TIMER)
        look()
    if host_dma.stopped():
        host_dma.resume()
    finish_reads()
    post_buffers()
    while receive():
        post_buffers()
    take_all()
    while transmit():
        pass
    read_all()
    report_all()
    arm()
    events.wait(ALL)


@firmware
def main() -> None:
    fill_pools()
    post_buffers()
    SCRATCH0.store(READY_WORD)
    while True:
        turn()
