"""The machine that firmware sees when it runs as plain Python: SRAM bytes, and a bus to the on-chip
registers."""

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol, Self

from lanai_hdl.isa.traps import CAUSES, TrapCause
from lanai_hdl.machine import REGISTERS_LOCAL, REGISTERS_SIZE

from .integers import Word, place, u32
from .rules import FirmwareError
from .types import align_up, alignof, is_integer, sizeof

DATA_BASE = (
    0x1000  # where globals start when no image places them; page 0 stays empty so that null is not a variable's address
)


class RegisterBus(Protocol):
    """The registers behind a machine's accesses. `address` is the processor's, in [REGISTERS_LOCAL,
    +REGISTERS_SIZE)."""

    def read(self, address: int) -> int: ...

    def write(self, address: int, value: int) -> None: ...


class PlainRegisters(RegisterBus):
    """Registers that only remember."""

    def __init__(self) -> None:
        self.values: dict[int, int] = {}

    def read(self, address: int) -> int:
        return self.values.get(address, 0)

    def write(self, address: int, value: int) -> None:
        self.values[address] = value


class Machine:
    """One NIC's memory for firmware under CPython. Enter it (`with machine:`) and call firmware
    functions.

    `symbols` maps "module.name" to the addresses of globals, as an image does; without it each
    global gets the next free place when it is first used. `local()` objects and nothing else take
    the top `stack_size` bytes.
    """

    def __init__(
        self,
        sram_size: int = 1 << 20,
        registers: RegisterBus | None = None,
        symbols: Mapping[str, int] | None = None,
        stack_size: int = 0x2000,
    ) -> None:
        self.sram = bytearray(sram_size)
        self.registers: RegisterBus = registers if registers is not None else PlainRegisters()
        self.placed: dict[str, int] = dict(symbols or {})
        self.fixed = symbols is not None
        self.limit = min(sram_size, REGISTERS_LOCAL)
        self.stack_bottom = self.limit - stack_size
        self.stack = self.limit
        self.heap = DATA_BASE

    def place(self, symbol: str, kind: Any) -> int:
        """The address of the global `symbol`."""
        address = self.placed.get(symbol)
        if address is None:
            if self.fixed:
                raise FirmwareError(f"global {symbol} has no place in the image that this machine was laid out by")
            address = align_up(self.heap, max(4, alignof(kind)))
            if address + sizeof(kind) > self.stack_bottom:
                raise FirmwareError(
                    f"global {symbol} of {sizeof(kind)} bytes does not fit at {address:#x}: "
                    f"data ends at {self.stack_bottom:#x}"
                )
            self.heap = address + sizeof(kind)
            self.placed[symbol] = address
        return address

    def check(self, address: int, size: int, what: str) -> None:
        if address == 0 or address < 0 or address + size > len(self.sram):
            raise FirmwareError(
                f"{what} of {size} bytes at {address:#x} is outside SRAM of {len(self.sram):#x} bytes"
                + (" (null pointer)" if address < 256 else "")
            )
        if address % size:
            raise FirmwareError(f"{CAUSES[TrapCause.MISALIGNED]}: {what} of {size} bytes at {address:#x}")

    def check_register(self, address: int, size: int, what: str) -> None:
        """A pointer may reach the on-chip registers as the Lanai's loads and stores do: whole words
        only."""
        if address % size:
            raise FirmwareError(f"{CAUSES[TrapCause.MISALIGNED]}: {what} of {size} bytes at {address:#x}")
        if size != 4:
            raise FirmwareError(f"{CAUSES[TrapCause.REGISTER_SIZE]}: {what} of {size} bytes at {address:#x}")

    def load(self, address: int, size: int) -> int:
        if REGISTERS_LOCAL <= address < REGISTERS_LOCAL + REGISTERS_SIZE:
            self.check_register(address, size, "load")
            return self.registers.read(address) & 0xFFFFFFFF
        if address <= 0 or address + size > len(self.sram) or address % size:
            self.check(address, size, "load")
        return int.from_bytes(self.sram[address : address + size], "big")

    def store(self, address: int, size: int, value: int) -> None:
        if REGISTERS_LOCAL <= address < REGISTERS_LOCAL + REGISTERS_SIZE:
            self.check_register(address, size, "store")
            self.registers.write(address, value & 0xFFFFFFFF)
            return
        if address <= 0 or address + size > len(self.sram) or address % size:
            self.check(address, size, "store")
        self.sram[address : address + size] = (value & ((1 << (8 * size)) - 1)).to_bytes(size, "big")

    def __enter__(self) -> Self:
        stack = getattr(active, "machines", None)
        if stack is None:
            stack = active.machines = []
        stack.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        active.machines.pop()


active = threading.local()  # a thread a NIC may run firmware side by side


def current() -> Machine:
    """The machine entered last in this thread."""
    try:
        machine: Machine = active.machines[-1]
    except (AttributeError, IndexError):
        raise FirmwareError(
            "firmware touched memory outside a machine; write `with Machine():` around the call"
        ) from None
    return machine


class Register:
    """A memory-mapped 32-bit register. Accesses happen, each once, in the order written."""

    __slots__ = ("address", "kind")

    def __init__(self, kind: Any, address: int) -> None:
        self.kind = kind
        self.address = address

    def load(self) -> Any:
        return self.kind(current().registers.read(self.address))

    def store(self, value: int) -> None:
        """A register takes the bits of a u32 or an i32; a literal must fit the register's own
        kind."""
        kind = type(value).wide if isinstance(value, Word) else self.kind
        current().registers.write(self.address, int(u32(place(kind, value, "the register"))))


def register(kind: Any, address: int) -> Register:
    """The register at the processor's `address`, holding a u32 or i32."""
    if not (is_integer(kind) and kind.size == 4):
        raise FirmwareError(f"register of {kind!r} at {address:#x}: registers are words; write register(u32, address)")
    if address % 4:
        raise FirmwareError(f"register at {address:#x} is misaligned; registers are words at multiples of 4")
    if not REGISTERS_LOCAL <= address < REGISTERS_LOCAL + REGISTERS_SIZE:
        raise FirmwareError(
            f"register at {address:#x} is outside the on-chip registers, "
            f"{REGISTERS_LOCAL:#x} to {REGISTERS_LOCAL + REGISTERS_SIZE - 1:#x}; write at(Ptr[u32], "
            f"{address:#x}) for SRAM"
        )
    return Register(kind, int(address))
