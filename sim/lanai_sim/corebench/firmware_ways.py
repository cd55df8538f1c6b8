"""One firmware program, run in each of its ways: plain Python, natively, on the golden model, on
the gateware's core.

In all of them the on-chip registers are plain words, unless packets come: then they are those of a NIC in plain
Python (`packets`), but not on the gateware. A program that needs a host too runs under `lanai run`.
"""

import traceback
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lanai_firmware.compiler import build, entry_of
from lanai_firmware.image import Image
from lanai_firmware.iss import Memory, PlainRegisters, Processor, Stop
from lanai_firmware.iss.memory import RegisterPort
from lanai_firmware.lang import FirmwareError, Machine
from lanai_firmware.lang.functions import Function
from lanai_firmware.native import NativeProgram, Stopped
from lanai_firmware.nic.model import HostMemory, Nic, Packet
from lanai_firmware.nic.model.nic import BY_ADDRESS
from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.isa import TrapCause
from lanai_hdl.isa.traps import CAUSES
from lanai_hdl.machine import REGISTERS_LOCAL, Verdict
from lanai_host.errors import UserError

from .bench import CoreBench

# A NIC in plain Python that packets from a file come to: what event-driven firmware needs to run without a bench.
#
# There is no host: nothing rings the doorbell, and a copy from or to host memory fails as on a bus without memory.


LOOKED_AT = ("ISR", "RECV_VERDICT", "RECV_STATUS", "RECV_DONE", "SEND_DONE", "SEND_STATUS")  # by firmware that polls


def read_packets(path: str) -> list[Packet]:
    """The packets of a file, in hexadecimal, one a line; `#` begins a comment, `!` before a packet spoils its CRC."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(
            f"cannot read --packets {path!r}: {why}; name a file with a packet in hexadecimal a line"
        ) from error
    found = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        digits = text.removeprefix("!")
        try:
            data = bytes.fromhex(digits)
        except ValueError:
            raise UserError(
                f"{path}:{number}: {digits.strip()!r} is not a packet; write its bytes, as in 0001 ff"
            ) from None
        if len(data) % 4:
            raise UserError(
                f"{path}:{number}: a packet of {len(data)} bytes is not whole words; fill it up to a multiple of 4"
            )
        if data:
            found.append(Packet(0, data, int(Verdict.VALID | Verdict.CRC if text != digits else Verdict.VALID)))
    return found


class Idle(Exception):
    """The firmware waits, and nothing can happen any more."""


class FedNic(Nic):
    """A NIC that gets these packets, as soon as it takes them. It moves on while the firmware waits or polls."""

    def __init__(self, packets: Iterable[Packet], config: NicConfig) -> None:
        super().__init__(HostMemory(), lambda: None, config)
        self.machine = Machine(config.sram_size, registers=self)
        self.coming, self.came = deque(packets), 0

    def read(self, address: int) -> int:
        if self._name(address) in LOOKED_AT:
            self._step()
        return super().read(address)

    def write(self, address: int, value: int) -> None:
        name = self._name(address)
        super().write(address, value)
        while name == "WAIT" and value and not self.events() & value:
            if not self._step():
                if not self.armed:
                    raise Idle
                self.tick()

    @staticmethod
    def _name(address: int) -> str:
        if address not in BY_ADDRESS:
            raise UserError(
                f"the register at {address:#x} is not in the model of a NIC; it has {', '.join(BY_ADDRESS.values())}"
            )
        return BY_ADDRESS[address]

    def _step(self) -> bool:
        """Let one engine act: what is under way goes first."""
        if self.arriving:
            self.finish()
        elif self.may_copy():
            self.copy()
        elif self.may_send():
            self.send()
        elif self.coming and self.accepts():
            self.accept(self.coming.popleft())
            self.came += 1
        else:
            return False
        return True


class OfProcessor(RegisterPort):
    """The registers of a NIC as the golden model meets them, whose SRAM is that of the NIC from here on."""

    def __init__(self, nic: FedNic) -> None:
        self.nic = nic

    def connect(self, processor: Processor) -> None:
        self.nic.machine.sram = _Sram(processor)  # type: ignore[assignment]

    def read(self, offset: int) -> int:
        return self.nic.read(REGISTERS_LOCAL + offset)

    def write(self, offset: int, value: int) -> bool:
        try:
            self.nic.write(REGISTERS_LOCAL + offset, value)
        except Idle:
            return True
        return False


class _Sram:
    """The memory of the golden model, as the engines of a NIC read and write it."""

    def __init__(self, processor: Processor) -> None:
        self.processor = processor

    def __getitem__(self, part: slice) -> bytes:
        return self.processor.memory.read(part.start, part.stop - part.start)

    def __setitem__(self, part: slice, data: bytes) -> None:
        self.processor.write(part.start, bytes(data))


SRAM_OF_NATIVE = 1 << 20
CHUNK = 100_000  # instructions or slots between looks at the limit


@dataclass(frozen=True)
class Outcome:
    """The value that main returned. `cycles` and `instructions` are exact, from the first instruction to
    main's end, or None. `idle`: main has not ended, but waits for what cannot happen."""

    result: int | None
    cycles: int | None = None
    instructions: int | None = None
    idle: bool = False


def run_python(entry: Function, config: NicConfig, limit: int, nic: FedNic | None = None) -> Outcome:
    machine = Machine(config.sram_size) if nic is None else nic.machine
    try:
        with machine:
            value = entry()
    except Idle:
        return Outcome(None, idle=True)
    except (FirmwareError, AssertionError, ZeroDivisionError) as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "/lang/" not in f.filename]
        place = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
        raise UserError(f"firmware stopped: {place}{error or 'assert'}") from error
    return Outcome(None if value is None else int(value))


def run_native(entry: Function, config: NicConfig, limit: int, nic: FedNic | None = None) -> Outcome:
    if nic is not None and config.sram_size != SRAM_OF_NATIVE:
        raise UserError(
            f"on native, packets come to 1 MiB of SRAM, not to {config.sram_size} bytes; take another --nic"
        )
    try:
        value = NativeProgram(entry).run(Machine() if nic is None else nic.machine)
    except Idle:
        return Outcome(None, idle=True)
    except Stopped as stopped:
        raise UserError(f"firmware stopped: {stopped}") from stopped
    except FirmwareError as error:
        raise UserError(f"firmware stopped: {error}") from error
    return Outcome(None if value is None else int(value))


def run_iss(entry: Function, config: NicConfig, limit: int, nic: FedNic | None = None) -> Outcome:
    """With the LBUS free every instruction takes one processor cycle, so the count of one is that
    of the other."""
    image = build(entry, config)
    memory = Memory(image.sram_size)
    memory.write(0, image.sram())
    registers = PlainRegisters() if nic is None else OfProcessor(nic)
    processor = Processor(memory, registers)
    if isinstance(registers, OfProcessor):
        registers.connect(processor)
    processor.add_breakpoint(image.halt)
    stop = Stop.LIMIT
    while stop in (Stop.LIMIT, Stop.WAIT):
        check_limit(image, processor.retired, limit, processor.pc)
        if nic is not None and stop is Stop.WAIT:
            return Outcome(None, processor.retired, processor.retired, idle=True)
        processor.wake()  # nothing happens outside, so a wait would last for ever; plain registers end it at once
        stop = processor.run(min(CHUNK, limit - processor.retired))
    if processor.trap is not None:
        site = int.from_bytes(memory.read(image.address("__trap_site"), 4), "big")
        raise trap_error(image, processor.trap.cause, processor.trap.pc, site)
    word = int.from_bytes(memory.read(image.address("__result"), 4), "big")
    return Outcome(typed_result(image, word), processor.retired, processor.retired)


def run_rtl(entry: Function, config: NicConfig, limit: int, nic: FedNic | None = None) -> Outcome:
    if nic is not None:
        raise UserError("packets come to firmware on python, native and iss; for a NIC of gateware write a bench")
    image = build(entry, config)
    bench = CoreBench(image.sram_size)
    bench.load(image.sram())
    bench.reset()
    first, instructions = -1, 0
    while True:
        rows = bench.run(2 * CHUNK)
        if len(rows) and first < 0:
            first = int(rows["slot"][0])
        (ends,) = np.nonzero(rows["pc"] == image.halt)
        if len(ends):
            instructions += int(ends[0])
            cycles = (int(rows["slot"][ends[0]]) - first) // 2
            word = int(bench.sram[image.address("__result") // 4])
            return Outcome(typed_result(image, word), cycles, instructions)
        instructions += len(rows)
        if bench.trap is not None:
            raise trap_error(image, bench.trap.cause, bench.trap.pc, int(bench.sram[image.address("__trap_site") // 4]))
        check_limit(image, instructions, limit, int(rows["pc"][-1]) if len(rows) else 0)


def check_limit(image: Image, done: int, limit: int, pc: int) -> None:
    if done >= limit:
        raise UserError(f"main has not ended after {done} cycles; it is at {image.where(pc)}; give more with --cycles")


def trap_error(image: Image, cause: TrapCause, pc: int, site: int) -> UserError:
    if pc == image.address("__trap"):
        return UserError(f"firmware stopped: {image.trap_text(site)}")
    return UserError(f"the processor trapped at pc {pc:#07x}, {image.where(pc)}: {CAUSES[cause]}")


def typed_result(image: Image, word: int) -> int | None:
    if image.result == "None":
        return None
    return word - (1 << 32) if image.result == "i32" and word >> 31 else word


WAYS: dict[str, Callable[[Function, NicConfig, int, FedNic | None], Outcome]] = {
    "python": run_python,
    "native": run_native,
    "iss": run_iss,
    "rtl": run_rtl,
}


def run_on(
    way: str, firmware: Any, config: NicConfig | None = None, limit: int = 50_000_000, nic: FedNic | None = None
) -> Outcome:
    """Run a firmware file's main(), or a firmware function, in one of `WAYS`; with a `nic`, on that. A stop of any
    kind is a `UserError`."""
    return WAYS[way](entry_of(firmware), config or lanai41(), limit, nic)
