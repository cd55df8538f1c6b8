"""Is the NIC still the one that was booted, and does its firmware still run? Asked only when it has
been silent for long.

The check is the trusted half's (`driver`): a rank may reach its own part of the NIC only, and asks
for it. Everything is read over the host bus, so that nothing need work on the NIC but its PIO
target: a word that the boot left in a scratch register (a reset clears it), the trap registers,
and the doorbell, whose bit firmware that runs clears once it has read the rank's requests. A NIC
that leaves the bit set may be busy for its other ranks: it counts as silent only if its DMA engines
have done no more than what was queued before.

A NIC that is found dead is reset, because its DMA engines may still hold addresses of the host's
memory, and left as a sink for what others have sent to it. The reset clears what was found, so it
is left in two more scratch registers for the other ranks on this NIC.
"""

from collections.abc import Callable, Mapping
from typing import NoReturn

from lanai_hdl.isa.traps import CAUSES, TrapCause
from lanai_hdl.machine import Control, host_offset

from ..bus.base import Bus
from ..errors import DeviceEnded, DeviceLost, PeerLost
from ..operation import ANY_SOURCE, DeviceError, ErrorKind
from .attachment import FirmwareAttachment

TRAP_CAUSE, TRAP_PC = host_offset("TRAP_CAUSE"), host_offset("TRAP_PC")
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


Place = Callable[[int], str]  # the place in the firmware of an instruction, in words


def examine(
    bus: Bus, attachment: FirmwareAttachment, place: Place = hex, before_reset: Callable[[], None] | None = None
) -> str | None:
    """Return the fault of the NIC, as the rest of a sentence that begins with it; None if it has none.

    `before_reset` is called once the NIC is found dead, while its registers still hold what they held.
    """
    mark = attachment.mark
    patience = LOOK * _looks(attachment)
    found = bus.read(host_offset(mark.register))
    if found == mark.word:
        cause, pc = _dead(bus, attachment)
        if not cause:
            return None
        if before_reset is not None:
            before_reset()
        bus.write(CONTROL, int(Control.RESET))
        bus.read(CONTROL)
    elif found:
        return (
            f"was booted again, or does not answer on its bus: {mark.register} reads {found:#010x}, not "
            f"{mark.word:#010x}"
        )
    elif cause := bus.read(LEFT_CAUSE):
        return tell(cause, bus.read(LEFT_PC), place, patience)
    else:
        cause, pc = RESET, 0
    bus.write(LEFT_PC, pc)
    bus.write(LEFT_CAUSE, cause)
    from .loader import leave_sink  # brings a simulator's benches along

    leave_sink(bus, attachment.routes)
    return tell(cause, pc, place, patience)


def tell(cause: int, pc: int, place: Place, patience: int = LOOK * LOOKS) -> str:
    """In words."""
    if cause == RESET:
        return "was reset: it has forgotten what it was booted for"
    if cause == SILENT:
        return (
            f"is silent: for {patience // 1_000_000} us its firmware neither looked at the doorbell nor moved anything"
        )
    if cause == HELD:
        return "was stopped: its processor is held in reset"
    known = cause in TrapCause.__members__.values()
    reason = CAUSES[TrapCause(cause)] if known else f"cause {cause}"
    where = place(pc)
    at = f"{pc:#x}" if where == hex(pc) else f"{pc:#x} in {where}"
    return f"stopped: its processor trapped at {at}: {reason}"


def _dead(bus: Bus, attachment: FirmwareAttachment) -> tuple[int, int]:
    """Cause and place, (0, 0) if the firmware runs."""
    if cause := bus.read(TRAP_CAUSE):
        return cause, bus.read(TRAP_PC)
    if not bus.read(CONTROL) & Control.RUN:
        return HELD, 0
    bell = attachment.doorbell_bits
    bus.write(DOORBELL, bell)
    before = _done(bus)
    for _ in range(_looks(attachment)):
        if not bus.read(DOORBELL) & bell:
            return 0, 0
        bus.elapse(LOOK)
    after = _done(bus)
    depth = max(bus.read(QUEUE_DEPTHS).to_bytes(4, "big"))
    if any((late - early) & 0xFFFFFFFF > depth for early, late in zip(before, after, strict=True)):
        return 0, 0  # more than could have been queued before: more is being queued
    return SILENT, 0


def _looks(attachment: FirmwareAttachment) -> int:
    """Return how many looks at the doorbell a NIC that is well needs at most."""
    return LOOKS + attachment.longest_turn // LOOK


def _done(bus: Bus) -> list[int]:
    """Return how many descriptors each DMA engine has done."""
    return [bus.read(offset) for offset in DONE]


# The reasons why ranks are lost, and the errors of a probe where no message can come any more.

RAISED = {ErrorKind.PEER_FAILED: PeerLost, ErrorKind.RANK_LOST: DeviceEnded}


def reasons(lost: Mapping[int, str]) -> dict[int, str]:
    """Return why each rank can be reached no more. `lost`: by rank, the first that was lost first.

    Ranks that are lost later may have given up because of the first. So their reasons name that too.
    """
    if not lost:
        return {}
    first, why = next(iter(lost.items()))
    return {
        rank: text if rank == first else f"{text}, after rank {first} was lost: {why}" for rank, text in lost.items()
    }


def check_probe(source: int, lost: Mapping[int, str], told: set[int]) -> None:
    """Refuse a probe that has found nothing. Raises PeerLost if `source` is in `lost`, which says why.

    Probes for ANY_SOURCE are told of each loss once, because the other ranks may still send. `told`:
    the ranks of which they have been.
    """
    if source in lost:
        raise PeerLost(lost[source])
    if source == ANY_SOURCE and (untold := lost.keys() - told):
        rank = min(untold)
        told.add(rank)
        raise PeerLost(lost[rank])


def fail_probe(failure: DeviceError) -> NoReturn:
    """The whole device has failed. Raises DeviceLost, or PeerLost or DeviceEnded if that was because of a peer."""
    raise RAISED.get(failure.kind, DeviceLost)(failure.text)
