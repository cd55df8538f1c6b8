"""The calls on the fields of a status: some are done in C, and come here only to be refused."""

from typing import Any

from ...mpi.status import Status
from ..binding import always, bind
from ..context import abi
from ..tables import IgnoredStatus


@always
def MPI_Test_cancelled(status: Status) -> bool:
    return status.cancelled


@always
def MPI_Status_set_cancelled(status: Any, flag: int) -> None:
    filled = abi.get_status(status)
    filled.cancelled = bool(flag)
    abi.put_status(status, filled)


def _set_elements(status: Any, datatype: Any, count: int) -> None:
    filled = abi.get_status(status)
    filled.count = _bytes_of(datatype, count)
    abi.put_status(status, filled)


def _bytes_of(datatype: Any, elements: int) -> int:
    """The bytes that so many basic elements of a datatype are."""
    signature = datatype.signature
    if signature.single is not None:
        return int(signature.single.size * elements)
    full, rest = divmod(elements, signature.elements) if signature.elements else (0, 0)
    size = full * signature.size
    for basic, count in signature.runs():
        size += basic.size * min(count, rest)
        rest -= min(count, rest)
    return int(size)


for _name in ("MPI_Status_set_elements", "MPI_Status_set_elements_x"):
    bind(_name, _set_elements, always=True)


# The front does the rest in C (`generate.shortcut`). They come here only if a pointer leads nowhere. The binding
# refuses null pointers by the table of `arguments`, so what is left is MPI_STATUS_IGNORE.
_FIELDS = [f"{way}_{field}" for way in ("get", "set") for field in ("source", "tag", "error")]
_FORMS = ["c2f", "f2c", "c2f08", "f082c", "f2f08", "f082f"]


def _refuse() -> None:
    raise IgnoredStatus("the status")


for _name in [f"MPI_Status_{part}" for part in _FIELDS + _FORMS] + ["MPI_Abi_get_version"]:
    bind(_name, _refuse, always=True)
