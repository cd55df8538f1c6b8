"""Attributes: values that programs and libraries hang on communicators, datatypes and windows under a key."""

from collections.abc import Callable
from typing import Any

from .errors import ErrorClass, MpiError

CopyFunction = Callable[[Any, "Keyval", Any], tuple[bool, Any]]
DeleteFunction = Callable[[Any, "Keyval", Any], None]


class Keyval:
    """A key. `copy(object, keyval, value) -> (keep, new value)` runs when the object is duplicated, `delete(object,
    keyval, value)` when the value goes; None means never copy, nothing to do. Both report failure by raising MpiError.
    The C binding's closures hold the extra state. `kind` is "comm", "type" or "win".
    """

    def __init__(
        self, kind: str = "comm", copy: CopyFunction | None = None, delete: DeleteFunction | None = None
    ) -> None:
        self.kind = kind
        self.copy = copy
        self.delete = delete
        self.freed = False


class Attributes:
    """The values of one object. `owner` is passed to the callbacks."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[Keyval, Any] = {}

    def set(self, owner: Any, keyval: Keyval, value: Any) -> None:
        """Set `keyval`; an old value is deleted first, by its callback too."""
        if keyval in self._values:
            self._drop(owner, keyval)
        self._values[keyval] = value

    def get(self, keyval: Keyval) -> tuple[bool, Any]:
        """(found, value)."""
        if keyval in self._values:
            return True, self._values[keyval]
        return False, None

    def delete(self, owner: Any, keyval: Keyval, call: str = "MPI_Comm_delete_attr") -> None:
        """Delete `keyval`, which must be set."""
        if keyval not in self._values:
            raise MpiError(ErrorClass.KEYVAL, f"{call}: the object has no attribute under this keyval")
        self._drop(owner, keyval)

    def copy_to(self, owner: Any) -> "Attributes":
        """What a duplicate of `owner` inherits, as each key's copy callback decides."""
        copied = Attributes()
        for keyval, value in list(self._values.items()):
            if keyval.copy is not None:
                keep, new = keyval.copy(owner, keyval, value)
                if keep:
                    copied._values[keyval] = new
        return copied

    def clear(self, owner: Any) -> None:
        """Delete all, newest first (MPI asks for this order on MPI_COMM_SELF at finalize)."""
        for keyval in reversed(list(self._values)):
            self._drop(owner, keyval)

    def _drop(self, owner: Any, keyval: Keyval) -> None:
        if keyval.delete is not None:
            keyval.delete(owner, keyval, self._values[keyval])
        self._values.pop(keyval, None)
