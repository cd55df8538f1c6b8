"""Is the NIC still the one that was booted, and does its firmware still run? Asked only when it has
been silent for long.

The check is the trusted half's (`driver`): a rank may reach its own part of the NIC only, and asks
for it. Everything is read over the host bus, so that nothing need work on the NIC but its PIO
target: a word that the driver left in a scratch register (a reset clears it), the trap registers,
and the doorbell, whose bit firmware that runs clears once it has read the rank's requests. A NIC
that leaves the bit set may be busy for its other ranks: it counts as silent only if its DMA engines
have done no more than what was queued before.

A NIC that is found dead is reset, because its DMA engines may still hold addresses of the host's
memory, and left as a sink for what others have sent to it. The reset clears what was found, so it
is left in two more scratch registers for the other ranks on this NIC.
"""

from collections.abc import Callable
from typing import Protocol

from lanai_hdl.isa.traps import CAUSES, TrapCause
from lanai_hdl.machine import Control, host_offset

from ..bus.base import Bus
from .loader import EPOCH

TRAP_CAUSE, TRAP_PC = host_offset("TRAP_CAUSE"), host_offset("TRAP_PC")
READY = host_offset("SCRATCH0")  # firmware that has started says so there; a reset clears it
CONTROL, DOORBELL = host_offset("CONTROL"), host_offset("DOORBELL")
QUEUE_DEPTHS = host_offset("QUEUE_DEPTHS")
LEFT_CAUSE, LEFT_PC = host_offset("SCRATCH2"), host_offset("SCRATCH3")
RESET = 0xFF  # beside trap causes: another process reset the NIC
SILENT = 0x100  # the firmware does not take turns
HELD = 0x101  # the processor is held in reset
LOOK = 10_000_000  # picoseconds between two looks at the doorbell
LOOKS = 200  # turns take microseconds
DONE = [
    host_offset(name) for name in ("HDMA_DONE", "SEND_DONE", "RECV_DONE")
]  # descriptors done; the firmware queues them


class Attachment(Protocol):
    """The facts of its NIC that the check of one rank needs."""

    @property
    def epoch(self) -> int:
        """The word that EPOCH has as long as the NIC is the one that was booted."""

    @property
    def doorbell_bits(self) -> int:
        """The rank's bit of DOORBELL."""

    @property
    def routes(self) -> tuple[int, ...]:
        """To the NIC of each rank."""


Place = Callable[[int], str]  # the place in the firmware of an instruction, in words
Examine = Callable[[Bus, Attachment], str | None]  # `examine`, or what asks the trusted half for it


def examine(
    bus: Bus, attachment: Attachment, place: Place = hex, before_reset: Callable[[], None] | None = None
) -> str | None:
    """Return the fault of the NIC, as the rest of a sentence that begins with it; None if it has none.

    `before_reset` is called once the NIC is found dead, while its registers still hold what they held.
    """
    epoch = bus.read(EPOCH)
    if epoch == attachment.epoch:
        cause, pc = _dead(bus, attachment)
        if not cause:
            return None
        if before_reset is not None:
            before_reset()
        bus.write(CONTROL, int(Control.RESET))
        bus.read(CONTROL)
    elif epoch:
        return (
            f"was booted again, or does not answer on its bus: SCRATCH1 reads {epoch:#010x}, not "
            f"{attachment.epoch:#010x}"
        )
    elif cause := bus.read(LEFT_CAUSE):
        return tell(cause, bus.read(LEFT_PC), place)
    else:
        cause, pc = RESET, 0
    bus.write(LEFT_PC, pc)
    bus.write(LEFT_CAUSE, cause)
    from .sink import leave_sink  # brings a simulator's benches along

    leave_sink(bus, attachment.routes)
    return tell(cause, pc, place)


def examine_processor(bus: Bus, place: Place = hex) -> str | None:
    """`examine` for firmware whose boot leaves nothing in EPOCH: is it reset, trapped or held? Firmware that hangs is
    not found, and the NIC is left as it is."""
    if cause := bus.read(TRAP_CAUSE):
        return tell(cause, bus.read(TRAP_PC), place)
    if bus.read(CONTROL) & Control.RUN:
        return None
    return tell(HELD if bus.read(READY) else RESET, 0, place)


def tell(cause: int, pc: int, place: Place) -> str:
    """In words."""
    if cause == RESET:
        return "was reset: it has forgotten what it was booted for"
    if cause == SILENT:
        return (
            f"is silent: for {LOOK * LOOKS // 1_000_000} us its firmware neither looked at the doorbell nor "
            "moved anything"
        )
    if cause == HELD:
        return "was stopped: its processor is held in reset"
    known = cause in TrapCause.__members__.values()
    reason = CAUSES[TrapCause(cause)] if known else f"cause {cause}"
    where = place(pc)
    at = f"{pc:#x}" if where == hex(pc) else f"{pc:#x} in {where}"
    return f"stopped: its processor trapped at {at}: {reason}"


def _dead(bus: Bus, attachment: Attachment) -> tuple[int, int]:
    """Cause and place, (0, 0) if the firmware runs."""
    if cause := bus.read(TRAP_CAUSE):
        return cause, bus.read(TRAP_PC)
    if not bus.read(CONTROL) & Control.RUN:
        return HELD, 0
    bell = attachment.doorbell_bits
    bus.write(DOORBELL, bell)
    before = _done(bus)
    for _ in range(LOOKS):
        if not bus.read(DOORBELL) & bell:
            return 0, 0
        bus.elapse(LOOK)
    after = _done(bus)
    depth = max(bus.read(QUEUE_DEPTHS).to_bytes(4, "big"))
    if any((late - early) & 0xFFFFFFFF > depth for early, late in zip(before, after, strict=True)):
        return 0, 0  # more than could have been queued before: more is being queued
    return SILENT, 0


def _done(bus: Bus) -> list[int]:
    """Return how many descriptors each DMA engine has done."""
    return [bus.read(offset) for offset in DONE]
