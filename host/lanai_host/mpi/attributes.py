"""Attributes: values that programs and libraries hang on communicators, datatypes and windows under
a key."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .added_codes import byte_length
from .constants import MAX_INFO_KEY, MAX_INFO_VALUE
from .errors import ErrorClass, MpiError

CopyFunction = Callable[[Any, "Keyval", Any], tuple[bool, Any]]
DeleteFunction = Callable[[Any, "Keyval", Any], None]


class Keyval:
    """A key. `copy(object, keyval, value) -> (keep, new value)` runs when the object is duplicated,
    `delete(object, keyval, value)` when the value goes; None means never copy, nothing to do. Both
    report failure by raising MpiError. The C binding's closures hold the extra state. `kind` is
    "comm", "type" or "win".

    A key that the program has freed goes on to work for the attributes that still have it: `gone`
    is called when it is both freed and unused.
    """

    gone: Callable[[], None] | None = None

    def __init__(
        self, kind: str = "comm", copy: CopyFunction | None = None, delete: DeleteFunction | None = None
    ) -> None:
        self.kind = kind
        self.copy = copy
        self.delete = delete
        self.freed = False
        self.uses = 0  # attributes that have it
        self.was_used = False

    def free(self) -> None:
        """The program needs the key no longer."""
        self.freed = True
        self._look()

    def used(self, change: int) -> None:
        self.uses += change
        self.was_used = True
        self._look()

    def _look(self) -> None:
        if self.freed and not self.uses and self.gone is not None:
            self.gone()


class Attributes:
    """The values of one object. `owner` is passed to the callbacks."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[Keyval, Any] = {}

    def set(self, owner: Any, keyval: Keyval, value: Any) -> None:
        """Set `keyval`; an old value is deleted first, by its callback too."""
        keyval.used(1)
        try:
            if keyval in self._values:
                self._drop(owner, keyval)
        except BaseException:
            keyval.used(-1)
            raise
        self._values[keyval] = value

    def get(self, keyval: Keyval) -> tuple[bool, Any]:
        """(found, value)."""
        if keyval in self._values:
            return True, self._values[keyval]
        return False, None

    def values(self) -> list[Any]:
        return list(self._values.values())

    def delete(self, owner: Any, keyval: Keyval, call: str = "MPI_Comm_delete_attr") -> None:
        """Delete `keyval`, which must be set."""
        if keyval not in self._values:
            raise MpiError(ErrorClass.KEYVAL, f"{call}: the object has no attribute under this keyval")
        self._drop(owner, keyval)

    def copy_to(self, owner: Any) -> "Attributes":
        """Return the attributes that a duplicate of `owner` inherits, as each key's copy callback decides."""
        copied = Attributes()
        for keyval, value in list(self._values.items()):
            if keyval.copy is not None:
                keep, new = keyval.copy(owner, keyval, value)
                if keep:
                    keyval.used(1)
                    copied._values[keyval] = new
        return copied

    def clear(self, owner: Any) -> None:
        """Delete all, newest first (MPI asks for this order on MPI_COMM_SELF at finalize)."""
        for keyval in reversed(list(self._values)):
            self._drop(owner, keyval)

    def _drop(self, owner: Any, keyval: Keyval) -> None:
        if keyval.delete is not None:
            keyval.delete(owner, keyval, self._values[keyval])
        if self._values.pop(keyval, self) is not self:
            keyval.used(-1)


# Info objects: ordered string pairs that carry hints.


def _checked_key(call: str, key: str) -> str:
    length = byte_length(key)
    if not 0 < length < MAX_INFO_KEY:
        raise MpiError(
            ErrorClass.INFO_KEY, f"{call}: key has {length} bytes; between 1 and {MAX_INFO_KEY - 1} are allowed"
        )
    return key


class Info:
    """MPI_Info. Keys keep the order in which they were set first."""

    def __init__(self, pairs: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        self._pairs: dict[str, str] = dict(pairs)
        self._keys: list[str] | None = None  # in order, once they were asked for by number

    def set(self, key: str, value: str) -> None:
        """MPI_Info_set."""
        _checked_key("MPI_Info_set", key)
        length = byte_length(value)
        if length >= MAX_INFO_VALUE:
            raise MpiError(
                ErrorClass.INFO_VALUE,
                f"MPI_Info_set: value has {length} bytes; at most {MAX_INFO_VALUE - 1} are allowed",
            )
        self._pairs[key] = value
        self._keys = None

    def get(self, key: str) -> str | None:
        """MPI_Info_get, MPI_Info_get_string: the value, or None if the key is not set."""
        return self._pairs.get(_checked_key("MPI_Info_get", key))

    def delete(self, key: str) -> None:
        """MPI_Info_delete."""
        if _checked_key("MPI_Info_delete", key) not in self._pairs:
            raise MpiError(ErrorClass.INFO_NOKEY, f"MPI_Info_delete: key {key!r} is not set")
        del self._pairs[key]
        self._keys = None

    def nkeys(self) -> int:
        """MPI_Info_get_nkeys."""
        return len(self._pairs)

    def nthkey(self, n: int) -> str:
        """MPI_Info_get_nthkey."""
        if not 0 <= n < len(self._pairs):
            raise MpiError(ErrorClass.ARG, f"MPI_Info_get_nthkey: n is {n}, but the info has {len(self._pairs)} keys")
        if self._keys is None:
            self._keys = list(self._pairs)
        return self._keys[n]

    def duplicate(self) -> "Info":
        """MPI_Info_dup."""
        return Info(self._pairs)

    def pairs(self) -> list[tuple[str, str]]:
        """All pairs in order."""
        return list(self._pairs.items())


# Error handlers: what happens when a call on an object fails.


class Errhandler:
    """MPI_Errhandler. A user handler is called with the object and the error code, and gives the code
    that the call returns; the predefined ones have none."""

    def __init__(self, name: str, function: Callable[[Any, int], int] | None = None) -> None:
        self.name = name
        self.function = function

    @property
    def ends(self) -> bool:
        """Does an error end the job?"""
        return self.function is None and self is not ERRORS_RETURN

    def __repr__(self) -> str:
        return f"Errhandler({self.name})"


ERRORS_ARE_FATAL = Errhandler("MPI_ERRORS_ARE_FATAL")
ERRORS_ABORT = Errhandler("MPI_ERRORS_ABORT")
ERRORS_RETURN = Errhandler("MPI_ERRORS_RETURN")
