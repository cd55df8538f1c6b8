"""The functions that LLVM's Lanai backend calls for what the processor has no instruction for.

`LIBRARY` maps LLVM's names to ours. Each is its own object, linked only if something calls it.
"""

from typing import Any

from lanai_firmware.lang import Ptr, firmware, i32, u8, u32


@firmware
def multiply(a: u32, b: u32) -> u32:
    """One turn for each bit up to the highest one of the smaller factor."""
    if a < b:
        smaller = a
        larger = b
    else:
        smaller = b
        larger = a
    product = u32(0)
    while smaller != 0:
        if smaller & 1 != 0:
            product += larger
        larger <<= 1
        smaller >>= 1
    return product


@firmware
def divide(a: u32, b: u32) -> u32:
    """Restoring division. Callers never pass 0: the compiler checks first."""
    quotient = u32(0)
    if a < b:
        return quotient
    bit = u32(1)
    while b < a and b & 0x80000000 == 0:
        b <<= 1
        bit <<= 1
    while bit != 0:
        if a >= b:
            a -= b
            quotient |= bit
        b >>= 1
        bit >>= 1
    return quotient


@firmware
def modulo(a: u32, b: u32) -> u32:
    if a < b:
        return a
    start = b
    while b < a and b & 0x80000000 == 0:
        b <<= 1
    while b >= start:
        if a >= b:
            a -= b
        b >>= 1
    return a


@firmware
def divide_signed(a: i32, b: i32) -> i32:
    """Rounds to zero, as LLVM's `sdiv`."""
    quotient = divide(u32(a) if a >= 0 else -u32(a), u32(b) if b >= 0 else -u32(b))
    return i32(quotient) if (a < 0) == (b < 0) else i32(-quotient)


@firmware
def modulo_signed(a: i32, b: i32) -> i32:
    """Takes the sign of `a`, as LLVM's `srem`."""
    rest = modulo(u32(a) if a >= 0 else -u32(a), u32(b) if b >= 0 else -u32(b))
    return i32(rest) if a >= 0 else i32(-rest)


@firmware
def copy_block(target: Ptr[u8], source: Ptr[u8], size: u32) -> Ptr[u8]:
    for i in range(size):
        target[i] = source[i]
    return target


@firmware
def move_block(target: Ptr[u8], source: Ptr[u8], size: u32) -> Ptr[u8]:
    """Like copy_block, for blocks that may overlap."""
    if u32(target) <= u32(source):
        return copy_block(target, source, size)
    while size != 0:
        size -= 1
        target[size] = source[size]
    return target


@firmware
def set_block(target: Ptr[u8], value: u32, size: u32) -> Ptr[u8]:
    for i in range(size):
        target[i] = value
    return target


LIBRARY: dict[str, Any] = {  # firmware functions, which type checkers take for plain ones
    "__mulsi3": multiply,
    "__udivsi3": divide,
    "__umodsi3": modulo,
    "__divsi3": divide_signed,
    "__modsi3": modulo_signed,
    "memcpy": copy_block,
    "memmove": move_block,
    "memset": set_block,
}
