"""Operations that are no Python operators: bit counts, block copy and fill, ordering, stopping."""

from typing import Any, NoReturn

from . import rules
from .integers import operand, place, u32
from .machine import current
from .rules import FirmwareError
from .views import Pointer


class Trap(FirmwareError):
    """Firmware stopped itself with `trap()`."""


def popcount(value: int) -> Any:
    """Return the number of bits of a u32 that are one."""
    return u32(bits_of(value).bit_count())


def leading_zeros(value: int) -> Any:
    """Zeros above the highest one of a u32; 32 for zero."""
    return u32(32 - bits_of(value).bit_length())


def trailing_zeros(value: int) -> Any:
    """Zeros below the lowest one of a u32; 32 for zero."""
    bits = bits_of(value)
    return u32((bits & -bits).bit_length() - 1 if bits else 32)


def bits_of(value: int) -> int:
    return int(place(u32, value, "a count of bits"))


def copy(target: Pointer, source: Pointer, size: int) -> None:
    """Copy `size` bytes, as if all were read before any is written. Words at a time when addresses
    and size are multiples of 4."""
    memory = current().sram
    count = int(place(u32, size, "copy's argument 3"))
    span(target, count, "copy")
    span(source, count, "copy")
    memory[int(target) : int(target) + count] = memory[int(source) : int(source) + count]


def fill(target: Pointer, value: int, size: int) -> None:
    """Set `size` bytes to the low byte of `value`."""
    byte = int(place(u32, value, "fill's argument 2")) & 0xFF
    count = int(place(u32, size, "fill's argument 3"))
    span(target, count, "fill")
    current().sram[int(target) : int(target) + count] = bytes([byte]) * count


def span(pointer: Pointer, size: int, what: str) -> None:
    if not isinstance(pointer, Pointer):
        raise FirmwareError(f"{what}({pointer!r}): not a pointer; write address_of(x)")
    if size and (int(pointer) == 0 or int(pointer) + int(size) > len(current().sram)):
        raise FirmwareError(f"{what} of {int(size)} bytes at {int(pointer):#x} leaves SRAM")


def barrier() -> None:
    """Memory written by the host or a DMA engine may differ after this: reload. Registers imply it
    at each access."""


def trap(reason: str = "trap") -> NoReturn:
    """Stop the processor. `reason` must be a literal; the image remembers it with file and line."""
    raise Trap(reason)


def minimum(a: int, b: int) -> Any:
    """The smaller of two integers of one type."""
    a, b = alike("minimum", a, b)
    return b if b < a else a


def maximum(a: int, b: int) -> Any:
    """The larger of two integers of one type."""
    a, b = alike("maximum", a, b)
    return b if a < b else a


def alike(what: str, a: int, b: int) -> tuple[int, int]:
    """Both in the 32-bit kind of the one that has a kind: what is returned must wrap as it does."""
    kind = rules.result_kind(what, operand(a, what), operand(b, what))
    return kind(a), kind(b)
