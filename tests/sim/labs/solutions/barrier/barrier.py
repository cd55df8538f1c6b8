"""Lab 5, solved: a dissemination barrier. Rounds are counted, as a packet may come before its barrier does."""

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
    inside: u32  # this NIC's host waits
    round: u32  # of the barrier under way
    heard: Array[u32, 8]  # packets of each round that are not used up


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
def tell() -> None:
    """Send the packet of this round: to the NIC 1, 2, 4, ... further on."""
    peer = nic.me + (u32(1) << nic.round)
    if peer >= nic.count:
        peer -= nic.count
    send(peer, nic.round)


@firmware
def advance() -> None:
    """Go through all rounds whose packets are here."""
    while nic.inside:
        if u32(1) << nic.round >= nic.count:
            nic.inside = 0
            passed()
        elif nic.heard[nic.round]:
            nic.heard[nic.round] -= 1
            nic.round += 1
            if u32(1) << nic.round < nic.count:
                tell()
        else:
            return


@firmware
def arrived() -> None:
    """The host has come to a barrier. It comes to the next one only when this one is passed."""
    nic.inside = 1
    nic.round = 0
    if nic.count > 1:
        tell()
    advance()


@firmware
def came(word: u32) -> None:
    """A packet with this word has come. Its sender may be ahead of this NIC, even by a barrier."""
    nic.heard[word] += 1
    advance()


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
