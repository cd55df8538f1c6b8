"""One firmware program, run in each of its ways: plain Python, natively, on the golden model, on
the gateware's core.

In all of them the on-chip registers are plain words, unless packets come: then they are those of a NIC in plain
Python (`packets`), but not on the gateware. A program that needs a host too runs under `lanai run`.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanai_firmware.compiler import build, entry_of
from lanai_firmware.image import Image
from lanai_firmware.iss import Memory, PlainRegisters, Processor, Stop
from lanai_firmware.lang import FirmwareError, Machine
from lanai_firmware.lang.functions import Function
from lanai_firmware.native import NativeProgram, Stopped
from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.isa import TrapCause
from lanai_hdl.isa.traps import CAUSES
from lanai_host.errors import UserError

from .packets import FedNic, Idle, OfProcessor
from .rtl import CoreBench

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
    with CoreBench(image.sram_size, room=CHUNK) as bench:
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
                raise trap_error(
                    image, bench.trap.cause, bench.trap.pc, int(bench.sram[image.address("__trap_site") // 4])
                )
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
