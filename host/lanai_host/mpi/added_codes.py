"""The error classes and codes that a program adds (`added_codes.c`). The C library calls the same functions."""

from collections.abc import Collection
from typing import NamedTuple

from ..c_module import load
from .constants import MAX_ERROR_STRING

# Strings as C knows them: what counts is bytes. Bytes that are no UTF-8 are kept (as surrogate
# escapes).

_CONTINUES = 0x80  # the upper two bits of a byte that continues a code point


def encode(text: str) -> bytes:
    """The bytes of a string, without an end."""
    return text.encode(errors="surrogateescape")


def decode(data: bytes) -> str:
    """The string of these bytes."""
    return data.decode(errors="surrogateescape")


def byte_length(text: str) -> int:
    """Return how many bytes a string has in C, without its end."""
    return len(encode(text))


def c_text(text: str, size: int) -> bytes:
    """A C string with its end, of at most `size` bytes: what does not fit is cut between two code
    points."""
    data = encode(text)
    if len(data) >= size:
        end = size - 1
        while end > max(0, size - 4) and data[end] & 0xC0 == _CONTINUES:  # at most three bytes continue a code point
            end -= 1
        data = data[:end]
    return data + b"\0"


LAST_PREDEFINED = 0x3FFFFFFF  # MPI_ERR_LASTCODE: what the program adds lies above
FUNCTIONS = {
    "add_class": "int *",
    "add_code": "int, int *",
    "set_text": "int, const char *",
    "remove_class": "int",
    "remove_code": "int",
}  # each returns whether it has done it
DECLARED = "".join(
    (
        "typedef struct Codes Codes;\nCodes *codes_new(void);\nint codes_last(Codes *);\n",
        "int codes_look(Codes *, int, int *, char *);\n",
        *(f"int codes_{name}(Codes *, {takes});\n" for name, takes in FUNCTIONS.items()),
    )
)


class Number(NamedTuple):
    """An added class or code. A class is its own `error_class`, and has `codes`."""

    error_class: int
    codes: int
    text: str


def header(predefined: Collection[int]) -> str:
    """Return the C text before `added_codes.c`. `predefined`: the classes that are there without it."""
    flags = ", ".join(str(int(number in predefined)) for number in range(max(predefined) + 1))
    return (
        f"enum {{ FIRST = {LAST_PREDEFINED + 1}, MOST_TEXT = {MAX_ERROR_STRING} }};\n"
        f"static const char PREDEFINED[] = {{{flags}}};\n"
    )


class AddedCodes:
    """One table. Raises MemoryError if memory is short."""

    def __init__(self, predefined: Collection[int]) -> None:
        module = load(__package__, "added_codes", DECLARED, header=header(predefined))
        self._ffi, self._lib = module.ffi, module.lib
        self.table = self._lib.codes_new()
        if not self.table:
            raise MemoryError

    def address(self, function: str = "") -> int:
        """Return the address of one of `FUNCTIONS`, or, without a name, of the table that is its first argument."""
        found = self._ffi.addressof(self._lib, f"codes_{function}") if function else self.table
        return int(self._ffi.cast("intptr_t", found))

    def add_class(self) -> int | None:
        """Return a new class; None if memory is short."""
        made = self._ffi.new("int *")
        return made[0] if self._lib.codes_add_class(self.table, made) else None

    def add_code(self, error_class: int) -> int | None:
        """Return a new code of a class; None if the class is not known."""
        made = self._ffi.new("int *")
        return made[0] if self._lib.codes_add_code(self.table, error_class, made) else None

    def set_text(self, number: int, text: bytes) -> bool:
        return bool(self._lib.codes_set_text(self.table, number, text))

    def remove_class(self, number: int) -> bool:
        return bool(self._lib.codes_remove_class(self.table, number))

    def remove_code(self, number: int) -> bool:
        return bool(self._lib.codes_remove_code(self.table, number))

    def get(self, number: int) -> Number | None:
        """Return what is known of a number that was added and not removed."""
        codes, text = self._ffi.new("int *"), self._ffi.new("char[]", MAX_ERROR_STRING)
        error_class = self._lib.codes_look(self.table, number, codes, text)
        return None if error_class < 0 else Number(error_class, codes[0], decode(self._ffi.string(text)))

    @property
    def last(self) -> int:
        """The last number that was given out; that of the last predefined class before any."""
        return int(self._lib.codes_last(self.table))
