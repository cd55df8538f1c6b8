"""Attributes: values that programs and libraries hang on communicators, datatypes and windows under
a key."""

from collections.abc import Callable
from typing import Any

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
