"""Firmware for engine tests: it arms TIMER at the cycle in SCRATCH1, sleeps towards it, and puts
the cycle at which it woke, less that of TIMER, into SCRATCH2."""

from lanai_firmware.lang import Const, firmware, register, u32
from lanai_hdl.machine import Event, local_address

WAIT = register(u32, local_address("WAIT"))
CYCLES = register(u32, local_address("CYCLES"))
TIMER = register(u32, local_address("TIMER"))
ALARM = register(u32, local_address("SCRATCH1"))
LATE = register(u32, local_address("SCRATCH2"))

RUNG: Const[u32] = u32(int(Event.TIMER))


@firmware
def main() -> None:
    TIMER.store(ALARM.load())
    WAIT.store(RUNG)
    LATE.store(CYCLES.load() - ALARM.load())
    while True:
        WAIT.store(RUNG)
