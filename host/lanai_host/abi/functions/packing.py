"""Packing elements of a datatype into a buffer, and back."""

from typing import Any

from ...config import HostCost
from ...mpi.buffers import check_address
from ...mpi.datatypes import Datatype, external32
from ...mpi.errors import ErrorClass, MpiError
from ..binding import binding


def _packable(call: str, datatype: Datatype) -> None:
    if not datatype.committed:
        raise MpiError(ErrorClass.TYPE, f"{call}: the datatype {datatype.name!r} is not committed")


def _buffers(call: str, data: str, address: int, count: int, datatype: Datatype, packed: str, at: int) -> None:
    """The buffer `data` of a datatype's elements, and the `packed` one at address `at`."""
    _packable(call, datatype)
    check_address(call, data, address, count, datatype)
    if not at and count and datatype.size:
        raise MpiError(ErrorClass.BUFFER, f"{call}: {packed} is a null pointer")


def _room(call: str, position: int, needed: int, size: int) -> None:
    if not 0 <= position <= size - needed:
        raise MpiError(
            ErrorClass.TRUNCATE, f"{call}: {needed} bytes at position {position} exceed the buffer of {size} bytes"
        )


@binding
def MPI_Pack(inbuf: int, incount: int, datatype: Datatype, outbuf: int, outsize: int, position: Any, comm: Any) -> None:
    _buffers("MPI_Pack", "inbuf", inbuf, incount, datatype, "outbuf", outbuf)
    at = position[0]
    _room("MPI_Pack", at, incount * datatype.size, outsize)
    done = datatype.pack(inbuf, incount, outbuf + at)
    comm.device.charge(HostCost.COPY, done)
    position[0] = at + done


@binding
def MPI_Unpack(
    inbuf: int, insize: int, position: Any, outbuf: int, outcount: int, datatype: Datatype, comm: Any
) -> None:
    _buffers("MPI_Unpack", "outbuf", outbuf, outcount, datatype, "inbuf", inbuf)
    at = position[0]
    _room("MPI_Unpack", at, outcount * datatype.size, insize)
    done = datatype.unpack(inbuf + at, outbuf, outcount)
    comm.device.charge(HostCost.COPY, done)
    position[0] = at + done


@binding
def MPI_Pack_size(incount: int, datatype: Datatype, comm: Any) -> int:
    _packable("MPI_Pack_size", datatype)
    return incount * datatype.size


@binding
def MPI_Pack_external(
    datarep: str, inbuf: int, incount: int, datatype: Datatype, outbuf: int, outsize: int, position: Any
) -> None:
    external32.check_representation("MPI_Pack_external", datarep)
    _buffers("MPI_Pack_external", "inbuf", inbuf, incount, datatype, "outbuf", outbuf)
    at = position[0]
    _room("MPI_Pack_external", at, external32.size(incount, datatype), outsize)
    position[0] = at + external32.pack(inbuf, incount, datatype, outbuf + at)


@binding
def MPI_Unpack_external(
    datarep: str, inbuf: int, insize: int, position: Any, outbuf: int, outcount: int, datatype: Datatype
) -> None:
    external32.check_representation("MPI_Unpack_external", datarep)
    _buffers("MPI_Unpack_external", "outbuf", outbuf, outcount, datatype, "inbuf", inbuf)
    at = position[0]
    _room("MPI_Unpack_external", at, external32.size(outcount, datatype), insize)
    position[0] = at + external32.unpack(inbuf + at, outbuf, outcount, datatype)


@binding
def MPI_Pack_external_size(datarep: str, incount: int, datatype: Datatype) -> int:
    external32.check_representation("MPI_Pack_external_size", datarep)
    _packable("MPI_Pack_external_size", datatype)
    return external32.size(incount, datatype)
