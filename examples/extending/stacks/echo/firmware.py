"""The firmware of `echo`: sends what the host asks for, answers each packet with an
acknowledgement.

A packet that finds the host's ring full, or no host yet, stays on the NIC, unanswered, until the
host rings. Packets with a wrong CRC are dropped, and then their sender waits for ever: this system
is for links without errors.
"""

from lanai_firmware.lang import Array, Const, Global, Struct, address_of, firmware, u32
from lanai_firmware.nic import events, host_dma, receive_dma, send_dma
from lanai_firmware.nic.registers import (
    EVENT_DOORBELL,
    EVENT_RECV,
    EVENT_SEND,
    SCRATCH0,
    SCRATCH1,
    SCRATCH2,
    SCRATCH3,
    SCRATCH4,
    TO_HOST,
    TO_SRAM,
    VALID,
)

from . import layout

MEMORY, ASKED, ASKED_BYTES, TAKEN = SCRATCH1, SCRATCH2, SCRATCH3, SCRATCH4

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
    """`counters` go to the host as they lie here. `asked` counts the packets fetched from the host,
    `sent` all packets sent."""

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
def send(route: u32, local: u32, size: u32) -> None:
    """Begin to send a packet."""
    send_dma.queue_packet(route, local, size)
    state.sent += 1


@firmware
def post() -> None:
    """Offer the buffer to the receive DMA."""
    start = u32(address_of(state.incoming))
    receive_dma.post(start, start + BUFFER)


@firmware
def publish() -> None:
    """Tell the host. The sum is written last: the host waits for it to change."""
    state.counters[2] = state.counters[0] + state.counters[1]
    host_dma.transfer(MEMORY.load(), u32(address_of(state.counters)), 12, TO_HOST)


@firmware
def send_next() -> None:
    """Send one packet, an acknowledgement first, unless the last one is still on its way out.

    Nothing here waits: two NICs that each wait to send before they receive would block each other.
    """
    if send_dma.done() != state.sent:
        return
    if state.owed_first != state.owed_last:
        send(state.owed[state.owed_first % RANKS], u32(address_of(state.acknowledgement)), ACKNOWLEDGEMENT)
        state.owed_first += 1
    elif ASKED.load() != state.asked:
        state.asked += 1
        start = u32(address_of(state.outgoing))
        host_dma.transfer(MEMORY.load() + OUTGOING, start, ASKED_BYTES.load(), TO_SRAM)
        send(state.outgoing[0], start, ASKED_BYTES.load())


@firmware
def deliver(size: u32) -> None:
    """Put the packet into the host's ring. Its acknowledgement is owed."""
    place = INCOMING + state.counters[1] % RING * PAGE
    host_dma.transfer(MEMORY.load() + place, u32(address_of(state.incoming)), size, TO_HOST)
    state.counters[1] += 1
    publish()
    state.owed[state.owed_last % RANKS] = state.incoming[1]
    state.owed_last += 1


@firmware
def take() -> bool:
    """Deal with the packet that has arrived. False if it must wait for the host."""
    size = receive_dma.length()
    if receive_dma.verdict() == VALID:
        if size == ACKNOWLEDGEMENT:
            state.counters[0] += 1
            publish()
        elif MEMORY.load() != 0 and state.counters[1] - TAKEN.load() < RING:
            deliver(size)
        else:
            return False
    receive_dma.release()
    post()
    return True


@firmware
def main() -> None:
    post()
    SCRATCH0.store(READY)
    while True:
        events.clear(EVENT_SEND)
        if events.rung():
            events.answer(1)
        awaited = HOST_OR_SENT
        if receive_dma.verdict() == 0 or take():
            awaited = awaited | EVENT_RECV
        send_next()
        events.wait(awaited)
