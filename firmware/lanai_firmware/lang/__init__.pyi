"""Types of the firmware language for type checkers and editors. Widths and signs are the
compiler's: to them u8 to i32 are int.

A pointer or an array is written as what it leads to: members of `Ptr[T]` and of the elements of
`Array[T, n]` are those of T.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Annotated, Any, NoReturn, Self, TypeVar, overload
from typing import Annotated as Array

from .intrinsics import Trap
from .machine import Machine, PlainRegisters, RegisterBus
from .rules import FirmwareError

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

range = range
u8 = int
u16 = int
u32 = int
i32 = int

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])
Ptr = Annotated[_T, "pointer"]
Const = Annotated[_T, "constant"]
Global = Annotated[_T, "global"]

class Struct:
    """A struct, an array of it, or a pointer to it."""

    _address: int

    def __getitem__(self, index: int) -> Self: ...
    def __len__(self) -> int: ...
    def __add__(self, count: int) -> Self: ...
    def __sub__(self, count: int) -> Self: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...

class Register:
    """A memory-mapped word."""

    address: int

    def load(self) -> int: ...
    def store(self, value: int) -> None: ...

@overload
def firmware(function: _F) -> _F: ...
@overload
def firmware(*, depth: int = ..., inline: bool | None = ...) -> Callable[[_F], _F]: ...
def inline(function: _F) -> _F: ...
def register(kind: type[int], address: int) -> Register: ...
def sizeof(kind: Any) -> int: ...
def offset_of(struct: type[Struct], name: str) -> int: ...
def constants_set(constants: Mapping[str, int]) -> AbstractContextManager[None]: ...
def address_of(thing: _T) -> _T: ...
def at(kind: type[_T], address: int) -> _T: ...
def cast(kind: type[_T], pointer: Any) -> _T: ...
def null(kind: type[_T]) -> _T: ...
def local(kind: type[_T], align: int = ...) -> _T: ...
def copy(target: Any, source: Any, size: int) -> None: ...
def fill(target: Any, value: int, size: int) -> None: ...
def barrier() -> None: ...
def trap(reason: str = ...) -> NoReturn: ...
def popcount(value: int) -> int: ...
def leading_zeros(value: int) -> int: ...
def trailing_zeros(value: int) -> int: ...
def minimum(a: int, b: int) -> int: ...
def maximum(a: int, b: int) -> int: ...
