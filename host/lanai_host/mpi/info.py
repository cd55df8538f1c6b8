"""Info objects: ordered string pairs that carry hints."""

from collections.abc import Iterable, Mapping

from .constants import MAX_INFO_KEY, MAX_INFO_VALUE
from .errors import ErrorClass, MpiError
from .text import byte_length


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
