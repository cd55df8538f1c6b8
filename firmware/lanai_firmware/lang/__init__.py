"""The firmware language: a small typed subset of Python. See docs/firmware-language.md.

The same source runs under CPython with these definitions, natively and on the Lanai through
`lanai_firmware.compiler`. `__init__.pyi` beside this file tells type checkers and editors what the
names mean.
"""

from .functions import firmware, inline, local
from .functions import typed_range as range
from .integers import i32, u8, u16, u32
from .intrinsics import (
    Trap,
    barrier,
    copy,
    fill,
    leading_zeros,
    maximum,
    minimum,
    popcount,
    trailing_zeros,
    trap,
)
from .machine import Machine, PlainRegisters, Register, RegisterBus, register
from .rules import FirmwareError
from .types import Array, Const, Ptr, constants_set, offset_of, sizeof
from .views import Global, Struct, address_of, at, cast, null

__all__ = [
    "Array",
    "Const",
    "FirmwareError",
    "Global",
    "Machine",
    "PlainRegisters",
    "Ptr",
    "Register",
    "RegisterBus",
    "Struct",
    "Trap",
    "address_of",
    "at",
    "barrier",
    "cast",
    "constants_set",
    "copy",
    "fill",
    "firmware",
    "i32",
    "inline",
    "leading_zeros",
    "local",
    "maximum",
    "minimum",
    "null",
    "offset_of",
    "popcount",
    "range",
    "register",
    "sizeof",
    "trailing_zeros",
    "trap",
    "u8",
    "u16",
    "u32",
]
