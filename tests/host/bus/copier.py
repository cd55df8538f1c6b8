"""Firmware for tests of the host bus: rung, it copies bytes from host memory to host memory, and
says how often that failed.

The host says where in SCRATCH1 (from), 2 (bytes) and 3 (to); SCRATCH4 counts what was copied,
SCRATCH5 what was refused.
"""

from lanai_firmware.lang import Array, Global, Struct, address_of, firmware, register, u32
from lanai_firmware.nic import events, host_dma
from lanai_firmware.nic.registers import EVENT_DOORBELL, TO_HOST, TO_SRAM
from lanai_hdl.machine import local_address

FROM = register(u32, local_address("SCRATCH1"))
BYTES = register(u32, local_address("SCRATCH2"))
TO = register(u32, local_address("SCRATCH3"))
COPIED = register(u32, local_address("SCRATCH4"))
REFUSED = register(u32, local_address("SCRATCH5"))


class Buffer(Struct):
    words: Array[u32, 64]


buffer: Global[Buffer]


@firmware
def move(host: u32, direction: u32) -> None:
    if not host_dma.transfer(host, u32(address_of(buffer.words)), BYTES.load(), direction):
        REFUSED.store(REFUSED.load() + 1)


@firmware
def main() -> None:
    while True:
        events.wait(EVENT_DOORBELL)
        if events.rung() != 0:
            events.answer(1)
            move(FROM.load(), TO_SRAM)
            move(TO.load(), TO_HOST)
            COPIED.store(COPIED.load() + 1)
