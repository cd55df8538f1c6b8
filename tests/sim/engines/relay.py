"""Firmware for engine tests: rung, it fetches bytes from the host and sends them; what arrives it
puts into host memory, and counts.

The host says where in SCRATCH1 (from), 2 (bytes), 3 (route), 4 (to), 5 (where the count goes);
SCRATCH6 counts failed transfers.
"""

from lanai_firmware.lang import Array, Const, Global, Struct, address_of, firmware, u32
from lanai_firmware.nic import events, host_dma, receive_dma, send_dma
from lanai_firmware.nic.registers import (
    EVENT_DOORBELL,
    EVENT_RECV,
    SCRATCH1,
    SCRATCH2,
    SCRATCH3,
    SCRATCH4,
    SCRATCH5,
    SCRATCH6,
    TO_HOST,
    TO_SRAM,
)

FROM, BYTES, ROUTE, TO, COUNT, FAILED = SCRATCH1, SCRATCH2, SCRATCH3, SCRATCH4, SCRATCH5, SCRATCH6
AWAITED: Const[u32] = u32(int(EVENT_DOORBELL | EVENT_RECV))


class Room(Struct):
    count: Array[u32, 1]
    spare: u32
    outgoing: Array[u32, 512]
    incoming: Array[u32, 512]


room: Global[Room]


@firmware
def move(host: u32, local: u32, size: u32, direction: u32) -> None:
    """A copy, waited for. One that fails is counted."""
    if not host_dma.transfer(host, local, size, direction):
        FAILED.store(FAILED.load() + 1)


@firmware
def post() -> None:
    start = u32(address_of(room.incoming))
    receive_dma.post(start, start + 2048)


@firmware
def main() -> None:
    post()
    while True:
        events.wait(AWAITED)
        if events.rung():
            events.answer(1)
            start = u32(address_of(room.outgoing))
            move(FROM.load(), start, BYTES.load(), TO_SRAM)
            sent = send_dma.done()
            send_dma.queue_packet(ROUTE.load(), start, BYTES.load())
            while send_dma.done() == sent:
                pass
        if receive_dma.verdict():
            move(TO.load(), u32(address_of(room.incoming)), receive_dma.length(), TO_HOST)
            room.count[0] += 1
            move(COUNT.load(), u32(address_of(room.count)), 4, TO_HOST)
            receive_dma.release()
            post()
