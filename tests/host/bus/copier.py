"""Firmware for tests of the host bus: rung, it copies bytes from host memory to host memory, and says how often that failed.

The host says where in SCRATCH1 (from), 2 (bytes) and 3 (to); SCRATCH4 counts what was copied, SCRATCH5 what was refused.
"""

from lanai_firmware.lang import Array, Const, Global, Struct, address_of, firmware, register, u32
from lanai_hdl.machine import Event, HostDmaStart, Status, local_address

WAIT = register(u32, local_address("WAIT"))
DOORBELL = register(u32, local_address("DOORBELL"))
FROM = register(u32, local_address("SCRATCH1"))
BYTES = register(u32, local_address("SCRATCH2"))
TO = register(u32, local_address("SCRATCH3"))
COPIED = register(u32, local_address("SCRATCH4"))
REFUSED = register(u32, local_address("SCRATCH5"))
HDMA_HOST = register(u32, local_address("HDMA_HOST"))
HDMA_LOCAL = register(u32, local_address("HDMA_LOCAL"))
HDMA_LENGTH = register(u32, local_address("HDMA_LENGTH"))
HDMA_START = register(u32, local_address("HDMA_START"))
HDMA_STATUS = register(u32, local_address("HDMA_STATUS"))
HDMA_DONE = register(u32, local_address("HDMA_DONE"))

RUNG: Const[u32] = u32(int(Event.DOORBELL))
TO_SRAM: Const[u32] = u32(int(HostDmaStart.TO_SRAM))
TO_HOST: Const[u32] = u32(int(HostDmaStart.TO_HOST))
ERROR: Const[u32] = u32(int(Status.ERROR))


class Buffer(Struct):
    words: Array[u32, 64]


buffer: Global[Buffer]


@firmware
def transfer(host: u32, direction: u32) -> None:
    done = HDMA_DONE.load()
    HDMA_HOST.store(host)
    HDMA_LOCAL.store(u32(address_of(buffer.words)))
    HDMA_LENGTH.store(BYTES.load())
    HDMA_START.store(direction)
    while HDMA_DONE.load() == done:
        pass
    if HDMA_STATUS.load() & ERROR:
        REFUSED.store(REFUSED.load() + 1)


@firmware
def main() -> None:
    while True:
        WAIT.store(RUNG)
        if DOORBELL.load():
            DOORBELL.store(u32(1))
            transfer(FROM.load(), TO_SRAM)
            transfer(TO.load(), TO_HOST)
            COPIED.store(COPIED.load() + 1)
