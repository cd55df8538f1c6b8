"""The steps by which every driver starts a NIC's firmware: check the hardware, write the image, start the processor."""

from collections.abc import Iterable

from lanai_firmware.image import Image
from lanai_firmware.programs import Firmware
from lanai_hdl.isa import AluOp, encode
from lanai_hdl.isa.formats import RI, RM
from lanai_hdl.machine import MACHINE_ID, MACHINE_VERSION, SRAM_HOST, Control, Event, SendStart, host_offset, offset
from lanai_hdl.program import WINDOW, Program

from ..bus.base import PAGE_SIZE, Bus
from ..errors import UserError

READY = host_offset("SCRATCH0")  # firmware that has started says so there, until the next reset
EPOCH = host_offset("SCRATCH1")  # says which boot this is, until the next reset
POLL = 1_000_000  # picoseconds between two looks at READY
BOOT_POLLS = 10_000


class BootError(UserError):
    """The NIC did not come up."""


def check_machine(bus: Bus) -> None:
    """Refuse hardware that is not the machine this driver was written for."""
    identity = bus.read(host_offset("ID"))
    if identity != MACHINE_ID:
        raise BootError(f"no lanai here: ID reads {identity:#010x}, not {MACHINE_ID:#010x}; check the bus")
    version = bus.read(host_offset("VERSION"))
    if version >> 16 != MACHINE_VERSION >> 16:
        raise BootError(
            f"the NIC is of version {version >> 16}.{version & 0xFFFF}, this driver of {MACHINE_VERSION >> 16}.x; "
            "rebuild the gateware or install the matching release"
        )


def new_epoch(bus: Bus) -> int:
    """Return a word for EPOCH that no earlier boot of this NIC had: microseconds."""
    return bus.now // 1_000_000 & 0xFFFFFFFF | 1


def reset(bus: Bus) -> None:
    """Stop the processor and the engines."""
    bus.write(host_offset("CONTROL"), int(Control.RESET))
    bus.forget_accesses()


def load(bus: Bus, image: Image, end: int = 0) -> None:
    """Write the image, and clear its data and what lies behind it up to `end`. The NIC must be
    reset."""
    last = max(end, image.free)
    for place in range(image.zeroed, last, PAGE_SIZE):
        bus.write_block(SRAM_HOST + place, bytes(min(PAGE_SIZE, last - place)))
    bus.write_block(SRAM_HOST + image.base, image.loaded)


def start(bus: Bus, firmware: Firmware, polls: int = BOOT_POLLS) -> None:
    """Let the processor run, and wait until the firmware says that it is ready. Raises
    BootError."""
    bus.write(host_offset("CONTROL"), int(Control.RUN))
    for _ in range(polls):
        answer = bus.read(READY)
        if answer == firmware.ready:
            return
        cause = bus.read(host_offset("TRAP_CAUSE"))
        if cause:
            pc = bus.read(host_offset("TRAP_PC"))
            raise BootError(f"the firmware {firmware.name} stopped at {pc:#x} with cause {cause} while booting")
        bus.elapse(POLL)
    if firmware.refused and answer == firmware.refused:
        raise BootError(f"the firmware {firmware.name} is of another version than its driver; rebuild the image")
    raise BootError(
        f"the firmware {firmware.name} did not answer in {polls * POLL // 1_000_000} us: SCRATCH0 reads "
        f"{answer:#010x}, "
        f"not {firmware.ready:#010x}"
    )


# A program for a dead NIC: it ends what the NIC had begun to send, then takes each packet off the wire and drops it.
#
# A NIC that posts no buffers says STOP, and what others have sent to it then stands in the switches, in the way of
# packets for NICs that are well (NP-19). One that failed within a packet holds that packet's path through the
# switches, and the NIC at its end goes on waiting for the rest: a packet without words, to everyone it might have
# been for, ends it.


BUFFER, LIMIT = 0x8000, 0xA000  # more than a packet, behind the program
POSTED = 3
UPPER, LOWER = 22, 23  # general registers that the program uses beside `Program`'s own


def leave_sink(bus: Bus, routes: Iterable[int]) -> None:
    """Start the program on a NIC that was reset. Its SRAM is not what it was."""
    words = sink(sorted(set(routes))).words
    bus.write_block(SRAM_HOST, b"".join(word.to_bytes(4, "big") for word in words))
    bus.write(host_offset("CONTROL"), int(Control.RUN))


def sink(routes: Iterable[int]) -> Program:
    program = Program()
    for _ in range(POSTED):
        program.store(RECV_POINTER=BUFFER, RECV_LIMIT=LIMIT)
    for route in routes:
        _send_nothing(program, route)
    start = program.here
    return program.wait(Event.RECV_DONE).store(RECV_VERDICT=0, RECV_POINTER=BUFFER, RECV_LIMIT=LIMIT).again(start)


def _send_nothing(program: Program, route: int) -> None:
    """A packet of HEAD and TAIL."""
    program.then(
        encode(RI, op=AluOp.ADD, rd=UPPER, imm=route >> 16, high=1),
        encode(RI, op=AluOp.OR, rd=LOWER, rs1=UPPER, imm=route & 0xFFFF),
    )
    program.then(encode(RM, store=1, rd=LOWER, rs1=WINDOW, pre=1, imm=offset("SEND_ROUTE")))
    program.store(SEND_POINTER=BUFFER, SEND_LENGTH=0, SEND_START=SendStart.FIRST | SendStart.LAST)
    program.wait(Event.SEND_DONE).store(ISR=Event.SEND_DONE)
