"""Error classes, the exception that carries one, and the table that turns it into the codes of the
C binding."""

import enum
from collections.abc import Sequence

from .added_codes import LAST_PREDEFINED, AddedCodes, Number, byte_length, encode
from .constants import MAX_ERROR_STRING, Status


class ErrorClass(enum.IntEnum):
    """MPI's error classes, numbered as MPICH numbers them."""

    SUCCESS = 0
    BUFFER = 1
    COUNT = 2
    TYPE = 3
    TAG = 4
    COMM = 5
    RANK = 6
    ROOT = 7
    GROUP = 8
    OP = 9
    TOPOLOGY = 10
    DIMS = 11
    ARG = 12
    UNKNOWN = 13
    TRUNCATE = 14
    OTHER = 15
    INTERN = 16
    IN_STATUS = 17
    PENDING = 18
    REQUEST = 19
    ACCESS = 20
    AMODE = 21
    BAD_FILE = 22
    CONVERSION = 23
    DUP_DATAREP = 24
    FILE_EXISTS = 25
    FILE_IN_USE = 26
    FILE = 27
    INFO = 28
    INFO_KEY = 29
    INFO_VALUE = 30
    INFO_NOKEY = 31
    IO = 32
    NAME = 33
    NO_MEM = 34
    NOT_SAME = 35
    NO_SPACE = 36
    NO_SUCH_FILE = 37
    PORT = 38
    QUOTA = 39
    READ_ONLY = 40
    SERVICE = 41
    SPAWN = 42
    UNSUPPORTED_DATAREP = 43
    UNSUPPORTED_OPERATION = 44
    WIN = 45
    BASE = 46
    LOCKTYPE = 47
    KEYVAL = 48
    RMA_CONFLICT = 49
    RMA_SYNC = 50
    SIZE = 51
    DISP = 52
    ASSERT = 53
    RMA_RANGE = 55
    RMA_ATTACH = 56
    RMA_SHARED = 57
    RMA_FLAVOR = 58
    SESSION = 75
    PROC_ABORTED = 76
    VALUE_TOO_LARGE = 77
    ERRHANDLER = 80
    ABI = 81


MEANINGS: dict[int, str] = {
    ErrorClass.SUCCESS: "no error",
    ErrorClass.BUFFER: "invalid buffer pointer",
    ErrorClass.COUNT: "invalid count argument",
    ErrorClass.TYPE: "invalid datatype argument",
    ErrorClass.TAG: "invalid tag argument",
    ErrorClass.COMM: "invalid communicator",
    ErrorClass.RANK: "invalid rank",
    ErrorClass.ROOT: "invalid root",
    ErrorClass.GROUP: "invalid group",
    ErrorClass.OP: "invalid operation for reducing",
    ErrorClass.TOPOLOGY: "invalid topology",
    ErrorClass.DIMS: "invalid dimension argument",
    ErrorClass.ARG: "invalid argument",
    ErrorClass.UNKNOWN: "unknown error",
    ErrorClass.TRUNCATE: "message truncated",
    ErrorClass.OTHER: "other error",
    ErrorClass.INTERN: "internal error of the MPI library",
    ErrorClass.IN_STATUS: "the error codes are in the statuses",
    ErrorClass.PENDING: "pending request",
    ErrorClass.REQUEST: "invalid request",
    ErrorClass.ACCESS: "permission denied",
    ErrorClass.AMODE: "invalid access mode",
    ErrorClass.BAD_FILE: "invalid file name",
    ErrorClass.CONVERSION: "a data conversion function failed",
    ErrorClass.DUP_DATAREP: "the data representation is registered already",
    ErrorClass.FILE_EXISTS: "file exists",
    ErrorClass.FILE_IN_USE: "file is in use",
    ErrorClass.FILE: "invalid file handle",
    ErrorClass.INFO: "invalid info object",
    ErrorClass.INFO_KEY: "info key too long or empty",
    ErrorClass.INFO_VALUE: "info value too long",
    ErrorClass.INFO_NOKEY: "info key not defined",
    ErrorClass.IO: "input or output failed",
    ErrorClass.NO_MEM: "out of memory",
    ErrorClass.NOT_SAME: "collective argument not the same on all processes",
    ErrorClass.NAME: "service name not published",
    ErrorClass.PORT: "invalid port",
    ErrorClass.SERVICE: "invalid service name",
    ErrorClass.NO_SPACE: "no space left on the device",
    ErrorClass.NO_SUCH_FILE: "no such file",
    ErrorClass.QUOTA: "quota exceeded",
    ErrorClass.READ_ONLY: "read-only file or file system",
    ErrorClass.UNSUPPORTED_DATAREP: "unsupported data representation",
    ErrorClass.UNSUPPORTED_OPERATION: "operation not supported",
    ErrorClass.KEYVAL: "invalid attribute key",
    ErrorClass.PROC_ABORTED: "a peer process has gone",
    ErrorClass.VALUE_TOO_LARGE: "value too large to store",
    ErrorClass.ERRHANDLER: "invalid error handler",
    ErrorClass.SPAWN: "processes cannot be started",
    ErrorClass.WIN: "invalid window",
    ErrorClass.BASE: "invalid base address of a window",
    ErrorClass.LOCKTYPE: "invalid lock type",
    ErrorClass.RMA_CONFLICT: "conflicting accesses to a window",
    ErrorClass.RMA_SYNC: "wrong synchronization of one-sided calls",
    ErrorClass.SIZE: "invalid size",
    ErrorClass.DISP: "invalid displacement",
    ErrorClass.ASSERT: "invalid assertion",
    ErrorClass.RMA_RANGE: "target memory outside the window",
    ErrorClass.RMA_ATTACH: "memory cannot be attached to the window",
    ErrorClass.RMA_SHARED: "memory cannot be shared",
    ErrorClass.RMA_FLAVOR: "the window is of the wrong flavor",
    ErrorClass.SESSION: "invalid session",
    ErrorClass.ABI: "wrong binary interface",
}


class MpiError(Exception):
    """A failed MPI call.

    `text` names call, argument and value. A completion call for several requests that fails with
    `IN_STATUS` carries what it completed in `statuses` (and, for the `some` calls, whose they are
    in `indices`).
    """

    def __init__(
        self, error_class: int, text: str, statuses: Sequence[Status] = (), indices: Sequence[int] = ()
    ) -> None:
        super().__init__(text)
        self.error_class = error_class
        self.text = text
        self.statuses = statuses
        self.indices = indices
        self.code: int | None = None  # a code added by the program that a callback returned
        self.place: object = None  # whose error handler is called, if not the communicator's that was passed


class ThreadLevelError(MpiError):
    """A thread called MPI that may not by the thread level that the program asked for."""

    def __init__(self, text: str) -> None:
        super().__init__(ErrorClass.OTHER, text)


def unsupported(call: str) -> MpiError:
    """The answer of a call that is not there yet: an error by name, never something silently
    wrong."""
    return MpiError(ErrorClass.UNSUPPORTED_OPERATION, f"{call}: not supported by this MPI library")


class ErrorTable:
    """Codes for errors, and texts for codes.

    A code is a class in its low 8 bits plus, above them, the number of a text. Texts of the last
    `KEEP` errors are kept, so that MPI_Error_string of a returned code still names call, argument
    and value. Classes and codes that the program adds (MPI_Add_error_class, _code, _string) share
    one sequence of numbers above `LAST_PREDEFINED`.
    """

    KEEP = 1024

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._next_text = 1
        self._loaded: AddedCodes | None = None

    @property
    def added(self) -> AddedCodes:
        """Classes and codes that the program adds. Most programs add none, so it is made when first asked for."""
        if self._loaded is None:
            self._loaded = AddedCodes(MEANINGS)
        return self._loaded

    def _find(self, code: int) -> Number | None:
        return None if self._loaded is None or not LAST_PREDEFINED < code < 1 << 31 else self._loaded.get(code)

    def encode(self, error: MpiError) -> int:
        """The code that the C call returns for `error`."""
        if error.code is not None:
            return error.code
        if error.error_class > LAST_PREDEFINED:
            return error.error_class
        number = self._next_text
        self._next_text = number % self.KEEP + 1
        self._texts[number] = error.text
        return number << 8 | error.error_class

    def error_class(self, code: int) -> int:
        """MPI_Error_class."""
        added = self._find(code)
        if added is not None:
            return added.error_class
        self._check("MPI_Error_class", code)
        return code & 0xFF

    def text(self, code: int) -> str:
        """MPI_Error_string."""
        added = self._find(code)
        if added is not None:
            return added.text
        self._check("MPI_Error_string", code)
        number, error_class = code >> 8, code & 0xFF
        if number in self._texts:
            return self._texts[number]
        return MEANINGS.get(error_class, f"error class {error_class}")

    def _check(self, call: str, code: int) -> None:
        if not 0 <= code <= LAST_PREDEFINED:
            raise MpiError(ErrorClass.ARG, f"{call}: errorcode is {code}, which no call returned")

    @property
    def last_used_code(self) -> int:
        """The attribute MPI_LASTUSEDCODE."""
        return LAST_PREDEFINED if self._loaded is None else self._loaded.last

    def add_class(self) -> int:
        """MPI_Add_error_class."""
        made = self.added.add_class()
        if made is None:
            raise MpiError(ErrorClass.NO_MEM, "MPI_Add_error_class: no memory for another class")
        return made

    def add_code(self, error_class: int) -> int:
        """MPI_Add_error_code."""
        made = self.added.add_code(error_class) if abs(error_class) < 1 << 31 else None
        if made is None:
            text = f"MPI_Add_error_code: errorclass is {error_class}, which is not an error class"
            raise MpiError(ErrorClass.ARG, text)
        return made

    def add_string(self, code: int, text: str, call: str = "MPI_Add_error_string") -> None:
        """MPI_Add_error_string."""
        if 4 * len(text) >= MAX_ERROR_STRING and (length := byte_length(text)) >= MAX_ERROR_STRING:
            raise MpiError(ErrorClass.ARG, f"{call}: string has {length} bytes; at most {MAX_ERROR_STRING - 1} fit")
        if self._find(code) is None:
            raise MpiError(ErrorClass.ARG, f"{call}: errorcode is {code}, which the program did not add")
        self.added.set_text(code, encode(text))

    def remove_class(self, error_class: int) -> None:
        """MPI_Remove_error_class: its codes and its text must have gone before."""
        found = self._find(error_class)
        if found is not None and found.codes:
            raise MpiError(ErrorClass.OTHER, f"MPI_Remove_error_class: errorclass {error_class} still has codes")
        self._check_removal("MPI_Remove_error_class", error_class, found, is_class=True)
        self.added.remove_class(error_class)

    def remove_code(self, code: int) -> None:
        """MPI_Remove_error_code: its text must have gone before."""
        self._check_removal("MPI_Remove_error_code", code, self._find(code), is_class=False)
        self.added.remove_code(code)

    def _check_removal(self, call: str, number: int, found: Number | None, is_class: bool) -> None:
        if found is None or (found.error_class == number) is not is_class:
            raise MpiError(ErrorClass.OTHER, f"{call}: {number} was not added by the program")
        if found.text:
            raise MpiError(ErrorClass.OTHER, f"{call}: {number} still has the string {found.text!r}")

    def remove_string(self, code: int) -> None:
        """MPI_Remove_error_string."""
        self.add_string(code, "", "MPI_Remove_error_string")
