"""Firmware for engine tests: rung, it fetches bytes from the host and sends them; what arrives it puts into host memory, and counts.

The host says where in SCRATCH1 (from), 2 (bytes), 3 (route), 4 (to), 5 (where the count goes); SCRATCH6 counts failed transfers.
"""

from lanai_firmware.lang import Array, Const, Global, Struct, address_of, firmware, register, u32
from lanai_hdl.machine import Event, HostDmaStart, SendStart, Status, local_address

WAIT = register(u32, local_address("WAIT"))
DOORBELL = register(u32, local_address("DOORBELL"))
FROM = register(u32, local_address("SCRATCH1"))
BYTES = register(u32, local_address("SCRATCH2"))
ROUTE = register(u32, local_address("SCRATCH3"))
TO = register(u32, local_address("SCRATCH4"))
COUNT = register(u32, local_address("SCRATCH5"))
FAILED = register(u32, local_address("SCRATCH6"))
HDMA_HOST = register(u32, local_address("HDMA_HOST"))
HDMA_LOCAL = register(u32, local_address("HDMA_LOCAL"))
HDMA_LENGTH = register(u32, local_address("HDMA_LENGTH"))
HDMA_START = register(u32, local_address("HDMA_START"))
HDMA_STATUS = register(u32, local_address("HDMA_STATUS"))
HDMA_DONE = register(u32, local_address("HDMA_DONE"))
SEND_ROUTE = register(u32, local_address("SEND_ROUTE"))
SEND_POINTER = register(u32, local_address("SEND_POINTER"))
SEND_LENGTH = register(u32, local_address("SEND_LENGTH"))
SEND_START = register(u32, local_address("SEND_START"))
SEND_DONE = register(u32, local_address("SEND_DONE"))
RECV_POINTER = register(u32, local_address("RECV_POINTER"))
RECV_LIMIT = register(u32, local_address("RECV_LIMIT"))
RECV_LENGTH = register(u32, local_address("RECV_LENGTH"))
RECV_VERDICT = register(u32, local_address("RECV_VERDICT"))

AWAITED: Const[u32] = u32(int(Event.DOORBELL | Event.RECV_DONE))
WHOLE: Const[u32] = u32(int(SendStart.FIRST | SendStart.LAST))
TO_SRAM: Const[u32] = u32(int(HostDmaStart.TO_SRAM))
TO_HOST: Const[u32] = u32(int(HostDmaStart.TO_HOST))
ERROR: Const[u32] = u32(int(Status.ERROR))


class Room(Struct):
    count: Array[u32, 1]
    spare: u32
    outgoing: Array[u32, 512]
    incoming: Array[u32, 512]


room: Global[Room]


@firmware
def transfer(host: u32, local: u32, size: u32, direction: u32) -> None:
    done = HDMA_DONE.load()
    HDMA_HOST.store(host)
    HDMA_LOCAL.store(local)
    HDMA_LENGTH.store(size)
    HDMA_START.store(direction)
    while HDMA_DONE.load() == done:
        pass
    if HDMA_STATUS.load() & ERROR:
        FAILED.store(FAILED.load() + 1)


@firmware
def post() -> None:
    start = u32(address_of(room.incoming))
    RECV_POINTER.store(start)
    RECV_LIMIT.store(start + 2048)


@firmware
def main() -> None:
    post()
    while True:
        WAIT.store(AWAITED)
        if DOORBELL.load():
            DOORBELL.store(u32(1))
            start = u32(address_of(room.outgoing))
            transfer(FROM.load(), start, BYTES.load(), TO_SRAM)
            sent = SEND_DONE.load()
            SEND_ROUTE.store(ROUTE.load())
            SEND_POINTER.store(start)
            SEND_LENGTH.store(BYTES.load())
            SEND_START.store(WHOLE)
            while SEND_DONE.load() == sent:
                pass
        if RECV_VERDICT.load():
            transfer(TO.load(), u32(address_of(room.incoming)), RECV_LENGTH.load(), TO_HOST)
            room.count[0] += 1
            transfer(COUNT.load(), u32(address_of(room.count)), u32(4), TO_HOST)
            RECV_VERDICT.store(u32(0))
            post()
