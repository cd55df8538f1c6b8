"""Sends and receives, blocking and not; probes and matched probes."""

from typing import Any

from ...mpi import buffered, partitioned, point_to_point, probing
from ...mpi import point_to_point as p2p
from ...mpi.constants import UNDEFINED, Status
from ...mpi.errors import ErrorClass, MpiError
from ..binding import always, bind, binding
from ..context import abi
from ..tables import IgnoredStatus

# Sends and receives

for _mode, _module in (("", p2p), ("s", p2p), ("r", p2p), ("b", buffered)):
    _stem, _inputs = f"{_mode}send", "comm buf count datatype dest tag"
    bind(f"MPI_{_stem.capitalize()}", getattr(_module, _stem), _inputs)
    bind(f"MPI_I{_stem}", getattr(_module, f"i{_stem}"), _inputs)
    bind(
        f"MPI_{_stem.capitalize()}_init",
        getattr(buffered if _mode == "b" else point_to_point, f"{_stem}_init"),
        _inputs,
    )

bind("MPI_Recv", p2p.recv, "comm buf count datatype source tag")
bind("MPI_Irecv", p2p.irecv, "comm buf count datatype source tag")
bind("MPI_Recv_init", point_to_point.recv_init, "comm buf count datatype source tag")
bind("MPI_Psend_init", partitioned.psend_init, "comm buf partitions count datatype dest tag")
bind("MPI_Precv_init", partitioned.precv_init, "comm buf partitions count datatype dest tag")

_EXCHANGE = "comm sendbuf sendcount sendtype dest sendtag recvbuf recvcount recvtype source recvtag"
_REPLACE = "comm buf count datatype dest sendtag source recvtag"
bind("MPI_Sendrecv", point_to_point.sendrecv, _EXCHANGE)
bind("MPI_Isendrecv", point_to_point.isendrecv, _EXCHANGE)
bind("MPI_Sendrecv_replace", point_to_point.sendrecv_replace, _REPLACE)
bind("MPI_Isendrecv_replace", point_to_point.isendrecv_replace, _REPLACE)

# Probes

bind("MPI_Probe", probing.probe, "comm source tag")
bind("MPI_Mprobe", probing.mprobe, "comm source tag")


@binding
def MPI_Iprobe(source: int, tag: int, comm: Any) -> tuple[bool, Any]:
    status = probing.iprobe(comm, source, tag)
    return status is not None, status


@binding
def MPI_Improbe(source: int, tag: int, comm: Any) -> tuple[bool, Any, Any]:
    found = probing.improbe(comm, source, tag)
    return (False, None, None) if found is None else (True, *found)


def _message(call: str, pointer: Any) -> Any:
    """The message of a matched probe, whose handle ends here."""
    handle = pointer[0]
    message = abi.messages[handle]
    if message is None:
        raise MpiError(ErrorClass.REQUEST, f"{call}: message is MPI_MESSAGE_NULL")
    return message


def _taken(pointer: Any) -> None:
    handle = pointer[0]
    if handle != abi.constants["MPI_MESSAGE_NO_PROC"]:
        abi.messages.remove(handle)
    pointer[0] = abi.messages.null


@binding
def MPI_Mrecv(buf: int, count: int, datatype: Any, message: Any) -> Any:
    found = _message("MPI_Mrecv", message)
    request = found.irecv(buf, count, datatype, "MPI_Mrecv")
    _taken(message)
    try:
        return request.wait()
    except MpiError as error:
        error.place = request.communicator
        raise


@binding
def MPI_Imrecv(buf: int, count: int, datatype: Any, message: Any) -> Any:
    found = _message("MPI_Imrecv", message)
    request = found.irecv(buf, count, datatype)
    _taken(message)
    return request


# Counts of what was received


def _or_undefined(count: int | None) -> int:
    return UNDEFINED if count is None else count


bind("MPI_Get_count", lambda status, datatype: _or_undefined(datatype.whole_count(status.count)))
bind("MPI_Get_elements", lambda status, datatype: _or_undefined(datatype.whole_elements(status.count)))
bind("MPI_Get_elements_x", lambda status, datatype: _or_undefined(datatype.whole_elements(status.count)))


# The calls on the fields of a status: some are done in C, and come here only to be refused.


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
