"""Sends and receives, blocking and not; probes and matched probes."""

from typing import Any

from ...mpi.constants import UNDEFINED
from ...mpi.errors import ErrorClass, MpiError
from ..binding import bind, binding
from ..context import abi


@binding
def MPI_Send(buf: int, count: int, datatype: Any, dest: int, tag: int, comm: Any) -> None:
    comm.send(buf, count, datatype, dest, tag)


@binding
def MPI_Recv(buf: int, count: int, datatype: Any, source: int, tag: int, comm: Any) -> Any:
    return comm.recv(buf, count, datatype, source, tag)


def _sends() -> None:
    def family(name: str, method: str) -> None:
        def call(buf: int, count: int, datatype: Any, dest: int, tag: int, comm: Any) -> Any:
            return getattr(comm, method)(buf, count, datatype, dest, tag)

        bind(name, call)

    for mode in ("", "s", "b", "r"):
        stem = f"{mode}send"
        if mode:
            family(f"MPI_{stem.capitalize()}", stem)
        family(f"MPI_I{stem}", f"i{stem}")
        family(f"MPI_{stem.capitalize()}_init", f"{stem}_init")


_sends()
bind(
    "MPI_Irecv",
    lambda buf, count, datatype, source, tag, comm: comm.irecv(buf, count, datatype, source, tag),
)
bind(
    "MPI_Recv_init",
    lambda buf, count, datatype, source, tag, comm: comm.recv_init(buf, count, datatype, source, tag),
)
bind(
    "MPI_Psend_init",
    lambda buf, partitions, count, datatype, dest, tag, comm: comm.psend_init(
        buf, partitions, count, datatype, dest, tag
    ),
)
bind(
    "MPI_Precv_init",
    lambda buf, partitions, count, datatype, dest, tag, comm: comm.precv_init(
        buf, partitions, count, datatype, dest, tag
    ),
)


def _exchange(name: str, method: str) -> None:
    def call(
        sendbuf: int,
        sendcount: int,
        sendtype: Any,
        dest: int,
        sendtag: int,
        recvbuf: int,
        recvcount: int,
        recvtype: Any,
        source: int,
        recvtag: int,
        comm: Any,
    ) -> Any:
        return getattr(comm, method)(
            sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag
        )

    bind(name, call)


def _replace(name: str, method: str) -> None:
    def call(buf: int, count: int, datatype: Any, dest: int, sendtag: int, source: int, recvtag: int, comm: Any) -> Any:
        return getattr(comm, method)(buf, count, datatype, dest, sendtag, source, recvtag)

    bind(name, call)


_exchange("MPI_Sendrecv", "sendrecv")
_exchange("MPI_Isendrecv", "isendrecv")
_replace("MPI_Sendrecv_replace", "sendrecv_replace")
_replace("MPI_Isendrecv_replace", "isendrecv_replace")

# Probes

bind("MPI_Probe", lambda source, tag, comm: comm.probe(source, tag))
bind("MPI_Mprobe", lambda source, tag, comm: comm.mprobe(source, tag))


@binding
def MPI_Iprobe(source: int, tag: int, comm: Any) -> tuple[bool, Any]:
    status = comm.iprobe(source, tag)
    return status is not None, status


@binding
def MPI_Improbe(source: int, tag: int, comm: Any) -> tuple[bool, Any, Any]:
    found = comm.improbe(source, tag)
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
