"""Operations that are no Python operators: bit counts, block copy and fill, ordering, stopping."""

from typing import Any, NoReturn

from .integers import FirmwareError, Word, u32
from .machine import current
from .views import Pointer


class Trap(FirmwareError):
    """Firmware stopped itself with `trap()`."""


def popcount(value: int) -> Any:
    """How many bits of a u32 are one."""
    return u32(int(u32(value)).bit_count())


def leading_zeros(value: int) -> Any:
    """Zeros above the highest one of a u32; 32 for zero."""
    return u32(32 - int(u32(value)).bit_length())


def trailing_zeros(value: int) -> Any:
    """Zeros below the lowest one of a u32; 32 for zero."""
    bits = int(u32(value))
    return u32((bits & -bits).bit_length() - 1 if bits else 32)


def copy(target: Pointer, source: Pointer, size: int) -> None:
    """Copy `size` bytes. The two must not overlap. Words at a time when addresses and size are multiples of 4."""
    memory = current().sram
    span(target, size, "copy")
    span(source, size, "copy")
    memory[int(target) : int(target) + int(size)] = memory[int(source) : int(source) + int(size)]


def fill(target: Pointer, value: int, size: int) -> None:
    """Set `size` bytes to the low byte of `value`."""
    span(target, size, "fill")
    current().sram[int(target) : int(target) + int(size)] = bytes([int(value) & 0xFF]) * int(size)


def span(pointer: Pointer, size: int, what: str) -> None:
    if not isinstance(pointer, Pointer):
        raise FirmwareError(f"{what}({pointer!r}): not a pointer; write address_of(x)")
    if size and (int(pointer) == 0 or int(pointer) + int(size) > len(current().sram)):
        raise FirmwareError(f"{what} of {int(size)} bytes at {int(pointer):#x} leaves SRAM")


def barrier() -> None:
    """Memory written by the host or a DMA engine may differ after this: reload. Registers imply it at each access."""


def trap(reason: str = "trap") -> NoReturn:
    """Stop the processor. `reason` must be a literal; the image remembers it with file and line."""
    raise Trap(reason)


def minimum(a: int, b: int) -> Any:
    """The smaller of two integers of one type."""
    a, b = alike(a, b)
    return b if b < a else a


def maximum(a: int, b: int) -> Any:
    """The larger of two integers of one type."""
    a, b = alike(a, b)
    return b if a < b else a


def alike(a: int, b: int) -> tuple[int, int]:
    """Both in the 32-bit type of the one that has a type: what is returned must wrap as it does."""
    typed = a if isinstance(a, Word) else b
    if not isinstance(typed, Word):
        raise FirmwareError(f"minimum and maximum of two literals, {a!r} and {b!r}; give one a type: u32({a!r})")
    return typed.wide(a), typed.wide(b)
