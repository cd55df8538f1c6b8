"""The firmware of `echo`: sends what the host asks for, answers each packet with an acknowledgement.

A packet that finds the host's ring full, or no host yet, stays on the NIC, unanswered, until the host rings. Packets with a wrong CRC
are dropped, and then their sender waits for ever: this system is for links without errors.
"""

from lanai_firmware.lang import Array, Const, Global, Struct, address_of, firmware, register, u32
from lanai_firmware.nic.registers import (
    DOORBELL,
    EVENT_DOORBELL,
    EVENT_RECV,
    EVENT_SEND,
    FIRST,
    HDMA_DONE,
    HDMA_HOST,
    HDMA_LENGTH,
    HDMA_LOCAL,
    HDMA_START,
    ISR,
    LAST,
    RECV_LENGTH,
    RECV_LIMIT,
    RECV_POINTER,
    RECV_VERDICT,
    SCRATCH0,
    SEND_DONE,
    SEND_LENGTH,
    SEND_POINTER,
    SEND_ROUTE,
    SEND_START,
    TO_HOST,
    TO_SRAM,
    VALID,
    WAIT,
)
from lanai_hdl.machine import local_address

from . import layout

MEMORY = register(u32, local_address("SCRATCH1"))
ASKED = register(u32, local_address("SCRATCH2"))
ASKED_BYTES = register(u32, local_address("SCRATCH3"))
TAKEN = register(u32, local_address("SCRATCH4"))

READY: Const[u32] = u32(layout.READY)
RING: Const[u32] = u32(layout.RING)
PAGE: Const[u32] = u32(layout.PAGE)
OUTGOING: Const[u32] = u32(layout.OUTGOING)
INCOMING: Const[u32] = u32(layout.INCOMING)
ACKNOWLEDGEMENT: Const[u32] = u32(layout.ACKNOWLEDGEMENT)
BUFFER: Const[u32] = u32(layout.HEAD + layout.BODY)
RANKS: Const[u32] = u32(layout.RANKS)
HOST_OR_SENT: Const[u32] = u32(int(EVENT_DOORBELL) | int(EVENT_SEND))


class State(Struct):
    """`counters` go to the host as they lie here. `asked` counts the packets fetched from the host, `sent` all packets sent."""

    counters: Array[u32, 3]  # acknowledged, received, their sum
    asked: u32
    sent: u32
    owed_first: u32
    owed_last: u32
    acknowledgement: Array[u32, 1]
    owed: Array[u32, layout.RANKS]  # a queue: the ways of acknowledgements that are still to be sent
    outgoing: Array[u32, (layout.HEAD + layout.BODY) // 4]
    incoming: Array[u32, (layout.HEAD + layout.BODY) // 4]


state: Global[State]


@firmware
def transfer(host: u32, local: u32, size: u32, direction: u32) -> None:
    """Between host memory and SRAM; returns when it is done."""
    done = HDMA_DONE.load()
    HDMA_HOST.store(host)
    HDMA_LOCAL.store(local)
    HDMA_LENGTH.store(size)
    HDMA_START.store(direction)
    while HDMA_DONE.load() == done:
        pass


@firmware
def send(route: u32, local: u32, size: u32) -> None:
    """Begin to send a packet."""
    SEND_ROUTE.store(route)
    SEND_POINTER.store(local)
    SEND_LENGTH.store(size)
    SEND_START.store(FIRST | LAST)
    state.sent += 1


@firmware
def post() -> None:
    """Offer the buffer to the receive DMA."""
    start = u32(address_of(state.incoming))
    RECV_POINTER.store(start)
    RECV_LIMIT.store(start + BUFFER)


@firmware
def publish() -> None:
    """Tell the host. The sum is written last: the host waits for it to change."""
    state.counters[2] = state.counters[0] + state.counters[1]
    transfer(MEMORY.load(), u32(address_of(state.counters)), u32(12), TO_HOST)


@firmware
def send_next() -> None:
    """Send one packet, an acknowledgement first, unless the last one is still on its way out.

    Nothing here waits: two NICs that each wait to send before they receive would block each other.
    """
    if SEND_DONE.load() != state.sent:
        return
    if state.owed_first != state.owed_last:
        send(state.owed[state.owed_first % RANKS], u32(address_of(state.acknowledgement)), ACKNOWLEDGEMENT)
        state.owed_first += 1
    elif ASKED.load() != state.asked:
        state.asked += 1
        start = u32(address_of(state.outgoing))
        transfer(MEMORY.load() + OUTGOING, start, ASKED_BYTES.load(), TO_SRAM)
        send(state.outgoing[0], start, ASKED_BYTES.load())


@firmware
def deliver(size: u32) -> None:
    """Put the packet into the host's ring. Its acknowledgement is owed."""
    place = INCOMING + state.counters[1] % RING * PAGE
    transfer(MEMORY.load() + place, u32(address_of(state.incoming)), size, TO_HOST)
    state.counters[1] += 1
    publish()
    state.owed[state.owed_last % RANKS] = state.incoming[1]
    state.owed_last += 1


@firmware
def take() -> bool:
    """Deal with the packet that has arrived. False if it must wait for the host."""
    size = RECV_LENGTH.load()
    if RECV_VERDICT.load() == VALID:
        if size == ACKNOWLEDGEMENT:
            state.counters[0] += 1
            publish()
        elif MEMORY.load() != 0 and state.counters[1] - TAKEN.load() < RING:
            deliver(size)
        else:
            return False
    RECV_VERDICT.store(u32(0))
    post()
    return True


@firmware
def main() -> None:
    post()
    SCRATCH0.store(READY)
    while True:
        ISR.store(EVENT_SEND)
        if DOORBELL.load():
            DOORBELL.store(u32(1))
        awaited = HOST_OR_SENT
        if RECV_VERDICT.load() == 0 or take():
            awaited = awaited | EVENT_RECV
        send_next()
        WAIT.store(awaited)
