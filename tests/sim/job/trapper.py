"""Firmware for tests of post-mortems: rung with 1 it reads beyond the SRAM, with 2 it stops
itself."""

from lanai_firmware.lang import Const, Ptr, at, firmware, register, trap, u32
from lanai_hdl.machine import Event, local_address

WAIT = register(u32, local_address("WAIT"))
DOORBELL = register(u32, local_address("DOORBELL"))
SCRATCH = register(u32, local_address("SCRATCH0"))

RUNG: Const[u32] = u32(int(Event.DOORBELL))
OUTSIDE: Const[u32] = u32(0x10_0000)  # beyond the largest SRAM


@firmware
def stray(address: u32) -> u32:
    return at(Ptr[u32], address)[0]


@firmware
def main() -> None:
    while True:
        WAIT.store(RUNG)
        if DOORBELL.load() == 2:
            trap("told to")
        SCRATCH.store(stray(OUTSIDE))
