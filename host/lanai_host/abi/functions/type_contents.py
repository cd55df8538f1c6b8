"""The functions that tell how a datatype was made: its envelope and its contents."""

from typing import Any

from ...mpi import datatypes as types
from ...mpi.datatypes import Datatype
from ...mpi.errors import ErrorClass, MpiError
from ..binding import binding
from ..context import abi


def _combiner(datatype: Datatype) -> int:
    number: int = abi.constants[f"MPI_COMBINER_{datatype.envelope.combiner.name}"]
    return number


@binding
def MPI_Type_get_envelope(datatype: Datatype) -> tuple[int, int, int, int]:
    envelope = datatype.envelope
    if envelope.counts:
        raise MpiError(ErrorClass.TYPE, "MPI_Type_get_envelope: the datatype has large counts; ask with the _c binding")
    return len(envelope.integers), len(envelope.addresses), len(envelope.datatypes), _combiner(datatype)


@binding
def MPI_Type_get_envelope_c(datatype: Datatype) -> tuple[int, int, int, int, int]:
    e = datatype.envelope
    return len(e.integers), len(e.addresses), len(e.counts), len(e.datatypes), _combiner(datatype)


def _contents(datatype: Datatype, *arrays: tuple[str, int, Any, Any]) -> None:
    if datatype.envelope.combiner is types.Combiner.NAMED:
        raise MpiError(ErrorClass.TYPE, f"MPI_Type_get_contents: {datatype.name} is predefined and has no contents")
    for name, room, pointer, values in arrays:
        if room < len(values):
            raise MpiError(ErrorClass.ARG, f"MPI_Type_get_contents: {name} is {room}, but {len(values)} are needed")
        abi.put_ints(pointer, values)


def _outward(datatype: Datatype) -> tuple[int, ...]:
    """The integers, with choices as this ABI numbers them."""
    envelope = datatype.envelope
    integers = list(envelope.integers)
    if envelope.combiner in (types.Combiner.SUBARRAY, types.Combiner.DARRAY):
        integers[-1] = abi.constants[f"MPI_ORDER_{types.Order(integers[-1]).name}"]
    if envelope.combiner is types.Combiner.DARRAY:
        dims = integers[2]
        first = 3 + (0 if envelope.counts else dims)
        for index in range(first, first + dims):
            integers[index] = abi.constants[f"MPI_DISTRIBUTE_{types.Distribution(integers[index]).name}"]
            if integers[index + dims] == types.DEFAULT_ARGUMENT:
                integers[index + dims] = abi.constants["MPI_DISTRIBUTE_DFLT_DARG"]
    return tuple(integers)


def _handles(datatype: Datatype) -> list[int]:
    """The datatypes inside: predefined ones have the handles they have, others new ones for the
    program to free."""
    return [abi.put_type(inner) for inner in datatype.envelope.datatypes]


@binding
def MPI_Type_get_contents(
    datatype: Datatype,
    max_integers: int,
    max_addresses: int,
    max_datatypes: int,
    array_of_integers: Any,
    array_of_addresses: Any,
    array_of_datatypes: Any,
) -> None:
    envelope = datatype.envelope
    if envelope.counts:
        raise MpiError(ErrorClass.TYPE, "MPI_Type_get_contents: the datatype has large counts; ask with the _c binding")
    _contents(
        datatype,
        ("max_integers", max_integers, array_of_integers, _outward(datatype)),
        ("max_addresses", max_addresses, array_of_addresses, envelope.addresses),
        ("max_datatypes", max_datatypes, array_of_datatypes, _handles(datatype)),
    )


@binding
def MPI_Type_get_contents_c(
    datatype: Datatype,
    max_integers: int,
    max_addresses: int,
    max_large_counts: int,
    max_datatypes: int,
    array_of_integers: Any,
    array_of_addresses: Any,
    array_of_large_counts: Any,
    array_of_datatypes: Any,
) -> None:
    envelope = datatype.envelope
    _contents(
        datatype,
        ("max_integers", max_integers, array_of_integers, _outward(datatype)),
        ("max_addresses", max_addresses, array_of_addresses, envelope.addresses),
        ("max_large_counts", max_large_counts, array_of_large_counts, envelope.counts),
        ("max_datatypes", max_datatypes, array_of_datatypes, _handles(datatype)),
    )
