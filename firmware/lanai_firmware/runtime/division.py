"""Signed division that rounds down, as Python's does; LLVM's `sdiv` rounds to zero."""

from lanai_firmware.lang import firmware, i32, u32


@firmware
def magnitude(x: i32) -> u32:
    return u32(x) if x >= 0 else -u32(x)


@firmware
def divide_floor(a: i32, b: i32) -> i32:
    above = magnitude(a)
    below = magnitude(b)
    quotient = above // below
    if (a < 0) == (b < 0):
        return i32(quotient)
    if quotient * below != above:
        quotient += 1
    return i32(-quotient)


@firmware
def modulo_floor(a: i32, b: i32) -> i32:
    below = magnitude(b)
    rest = magnitude(a) % below
    if rest != 0 and (a < 0) != (b < 0):
        rest = below - rest
    return i32(rest) if b >= 0 else i32(-rest)
