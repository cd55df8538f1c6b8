"""Handles: which number in C stands for which object."""

from collections import deque
from collections.abc import Callable
from typing import Any

from ..mpi.errors import ErrorClass, MpiError

REST = (
    4096  # numbers given back rest until so many wait, so that a stale handle is caught rather than taken for a new one
)


class BadHandle(Exception):
    """A number that stands for nothing. The call that it was passed to makes an MpiError of it."""

    def __init__(self, kind: str, value: int, null: bool, error_class: int) -> None:
        super().__init__(kind, value)
        self.kind, self.value, self.null, self.error_class = kind, value, null, error_class

    def named(self, call: str) -> MpiError:
        what = f"MPI_{self.kind.upper()}_NULL" if self.null else f"{self.value & 0xFFFFFFFFFFFFFFFF:#x}"
        return MpiError(self.error_class, f"{call}: {what} is not a valid {self.kind.lower()}")


class NullPointer(Exception):
    """An array or a string that is needed is a null pointer. The call that it was passed to makes
    an MpiError of it."""

    what = "is a null pointer"

    def named(self, call: str) -> MpiError:
        return MpiError(ErrorClass.ARG, f"{call}: {self.args[0]} {self.what}")


class IgnoredStatus(NullPointer):
    """A status whose fields are needed is MPI_STATUS_IGNORE."""

    what = "is MPI_STATUS_IGNORE, which has no fields"


class HandleTable(dict[int, Any]):
    """Objects by handle; `table[handle]` raises BadHandle for what is not there.

    `kind` is as in MPI_Comm; `base` the first number for objects made at run time; `null` the
    handle that stands for None. `here`, if it is set, says where the program makes an object, which
    `made` then tells.
    """

    here: Callable[[], str] | None = None

    def __init__(self, kind: str, error_class: int, null: int, base: int, narrow: bool) -> None:
        super().__init__()
        self.kind = kind
        self.error_class = error_class
        self.null = null
        self._base = base
        self._narrow = narrow
        self._used = 0
        self._resting: deque[int] = deque()
        self._predefined: dict[Any, int] = {}
        self._sites: dict[int, str] = {}

    def __missing__(self, handle: int) -> Any:
        raise BadHandle(self.kind, handle, handle == self.null, self.error_class)

    def predefine(self, handle: int, value: Any) -> None:
        """Bind a handle that the header fixes. Handing the object out gives this handle again."""
        handle = self._signed(handle)
        self[handle] = value
        self._predefined.setdefault(value, handle)

    @property
    def first(self) -> int:
        """The handle of the first object made at run time; the others follow it."""
        return self._signed(self._base)

    def put(self, value: Any) -> int:
        """A handle for an object; the null handle for None, the fixed one for a predefined
        object."""
        if value is None:
            return self.null
        fixed = self._predefined.get(value)
        return self.new(value) if fixed is None else fixed

    def new(self, value: Any) -> int:
        """A new handle, also for an object that has one already."""
        if len(self._resting) > REST:
            handle = self._resting.popleft()
        else:
            handle = self._signed(self._base + self._used)
            self._used += 1
        self[handle] = value
        if self.here is not None:
            self._sites[handle] = self.here()
        return handle

    def remove(self, handle: int) -> None:
        """The program has freed the handle."""
        del self[handle]
        if self._sites:
            self._sites.pop(handle, None)
        self._resting.append(handle)

    def is_predefined(self, value: Any) -> bool:
        return value in self._predefined

    def handle_of(self, value: Any) -> int:
        """Some handle of an object that was handed out; made if there is none."""
        fixed = self._predefined.get(value)
        if fixed is not None:
            return fixed
        for handle, held in self.items():
            if held is value:
                return handle
        return self.new(value)

    def has(self, value: Any) -> bool:
        """Does the program hold a handle of the object?"""
        return value in self._predefined or any(held is value for held in self.values())

    def is_only(self, handle: int) -> bool:
        """Is this the only handle of its object?"""
        return sum(held is self[handle] for held in self.values()) == 1

    def site_of(self, value: Any) -> str:
        """Return where the program made an object; empty if that is not known."""
        return self._sites.get(self.handle_of(value), "") if self.has(value) else ""

    def made(self) -> list[tuple[Any, str]]:
        """Objects made at run time whose handles were not freed, and where they were made."""
        return [
            (value, self._sites.get(handle, ""))
            for handle, value in self.items()
            if value is not None and value not in self._predefined
        ]

    def _signed(self, value: int) -> int:
        """MPICH's handles are ints whose upper bits say what they are, so some are negative."""
        return value - (1 << 32) if self._narrow and value >= 1 << 31 else value


class TwoWayTable(HandleTable):
    """The same, for objects whose handles are asked for often."""

    def __init__(self, kind: str, error_class: int, null: int, base: int, narrow: bool) -> None:
        super().__init__(kind, error_class, null, base, narrow)
        self._handles: dict[Any, list[int]] = {}

    def new(self, value: Any) -> int:
        handle = super().new(value)
        handles = self._handles.get(value)
        if handles is None:
            self._handles[value] = [handle]
        else:
            handles.append(handle)
        return handle

    def remove(self, handle: int) -> None:
        value = self[handle]
        super().remove(handle)
        handles = self._handles.get(value, [])
        if handles == [handle]:
            del self._handles[value]
        elif handle in handles:
            handles.remove(handle)

    def handle_of(self, value: Any) -> int:
        fixed = self._predefined.get(value)
        if fixed is not None:
            return fixed
        handles = self._handles.get(value)
        return handles[0] if handles else self.new(value)

    def has(self, value: Any) -> bool:
        return value in self._handles or value in self._predefined

    def is_only(self, handle: int) -> bool:
        return self._handles.get(self[handle]) == [handle]


class CountedTable(HandleTable):
    """The same, for objects that keep their handle however often they are handed out. It ends when it
    was freed as often."""

    def __init__(self, kind: str, error_class: int, null: int, base: int, narrow: bool) -> None:
        super().__init__(kind, error_class, null, base, narrow)
        self._handles: dict[Any, int] = {}
        self._counts: dict[int, int] = {}

    def put(self, value: Any) -> int:
        handle = self._handles.get(value)
        if handle is None:
            return super().put(value)
        self._counts[handle] += 1
        return handle

    def new(self, value: Any) -> int:
        handle = super().new(value)
        self._handles[value] = handle
        self._counts[handle] = 1
        return handle

    def remove(self, handle: int) -> None:
        value = self[handle]
        self._counts[handle] -= 1
        if not self._counts[handle]:
            super().remove(handle)
            del self._handles[value], self._counts[handle]


# (table, kind in the handle's bits 26..29 as MPICH numbers them, error class)
_KINDS = {
    "Comm": (0x1, ErrorClass.COMM),
    "Group": (0x2, ErrorClass.GROUP),
    "Datatype": (0x3, ErrorClass.TYPE),
    "File": (0x4, ErrorClass.FILE),
    "Errhandler": (0x5, ErrorClass.ERRHANDLER),
    "Op": (0x6, ErrorClass.OP),
    "Info": (0x7, ErrorClass.INFO),
    "Win": (0x8, ErrorClass.WIN),
    "Keyval": (0x9, ErrorClass.KEYVAL),
    "Request": (0xB, ErrorClass.REQUEST),
    "Message": (0xB, ErrorClass.REQUEST),
    "Session": (0xE, ErrorClass.SESSION),
}
_FORMS = {"Comm": TwoWayTable, "Datatype": TwoWayTable, "Errhandler": CountedTable}
_DIRECT = (0x2 << 30) + 0x1000  # MPICH: made at run time; it keeps the first numbers for predefined pair types
_FIRST_WIDE = (
    0x10000  # the standard ABI keeps the numbers below for itself; MPI_Comm_toint must fit the rest into an int
)


def make(kind: str, null: int, wide: bool) -> HandleTable:
    """An empty table for one kind of object."""
    bits, error_class = _KINDS[kind]
    offset = 1 << 25 if kind == "Message" else 0  # messages share their kind bits with requests
    base = (_FIRST_WIDE if wide else _DIRECT) + (bits << 26) + offset
    made = _FORMS.get(kind, HandleTable)
    return made(kind, error_class, null, base, narrow=not wide)
