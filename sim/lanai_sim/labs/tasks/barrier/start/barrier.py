"""Lab 5: a barrier among NICs, in firmware.

Fill the gaps, marked TODO. `lanai lab grade 5` runs the cases.
"""

from lanai_firmware.lang import Array, Const, Global, Struct, address_of, firmware, u32
from lanai_firmware.nic import events, receive_dma, send_dma
from lanai_firmware.nic.registers import EVENT_DOORBELL, EVENT_RECV, SCRATCH1, SCRATCH2, SCRATCH3

BUFFERS: Const[u32] = u32(4)
BUFFER_WORDS: Const[u32] = u32(16)
AWAITED: Const[u32] = u32(int(EVENT_DOORBELL) | int(EVENT_RECV))


class Nic(Struct):
    me: u32  # this NIC's number
    count: u32  # of NICs
    passed: u32  # barriers, which the host sees in SCRATCH3
    sent: u32  # packets
    routes: Array[u32, 16]  # to each NIC; the bench fills it
    outgoing: Array[u32, 16]
    incoming: Array[u32, 64]
    # TODO: what you must remember between calls. All is 0 at the start.


nic: Global[Nic]


@firmware
def send(peer: u32, word: u32) -> None:
    """Send a packet of one word to another NIC."""
    while send_dma.free() == 0:
        pass
    place = nic.sent & 15
    nic.sent += 1
    nic.outgoing[place] = word
    send_dma.queue_packet(nic.routes[peer], u32(address_of(nic.outgoing)) + place * 4, u32(4))


@firmware
def passed() -> None:
    """Tell the host that a barrier is passed."""
    nic.passed += 1
    SCRATCH3.store(nic.passed)


@firmware
def arrived() -> None:
    """The host has come to a barrier. It comes to the next one only when this one is passed."""
    # TODO 1: tell other NICs. Call passed() when all have come.


@firmware
def came(word: u32) -> None:
    """A packet with this word has come. Its sender may be ahead of this NIC, even by a barrier."""
    # TODO 2


@firmware
def post(buffer: u32) -> None:
    start = u32(address_of(nic.incoming)) + buffer * BUFFER_WORDS * 4
    receive_dma.post(start, start + BUFFER_WORDS * 4)


@firmware
def main() -> None:
    nic.me = SCRATCH1.load()
    nic.count = SCRATCH2.load()
    for buffer in range(BUFFERS):
        post(buffer)
    taken = u32(0)
    while True:
        events.wait(AWAITED)
        if events.rung():
            events.answer(1)
            arrived()
        while receive_dma.verdict():
            buffer = taken & (BUFFERS - 1)
            word = nic.incoming[buffer * BUFFER_WORDS]
            taken += 1
            receive_dma.release()
            post(buffer)
            came(word)
