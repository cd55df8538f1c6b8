"""Datatypes: constructors, sizes and bounds, names."""

from collections.abc import Callable
from typing import Any

from ...config import HostCost
from ...mpi import datatypes as types
from ...mpi.buffers import check_address
from ...mpi.datatypes import Datatype, matching
from ...mpi.errors import ErrorClass, MpiError
from ..binding import bind, binding
from ..context import abi

# Constructors. MPI-1's names of them are bound too.


def _both(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            bind(name, function)
        return function

    return decorate


bind("MPI_Type_contiguous", lambda count, oldtype, large: types.contiguous(count, oldtype, large))
bind("MPI_Type_create_resized", lambda oldtype, lb, extent, large: types.resized(oldtype, lb, extent, large))
bind("MPI_Type_create_f90_real", lambda p, r: types.f90_real(p, r))
bind("MPI_Type_create_f90_complex", lambda p, r: types.f90_complex(p, r))
bind("MPI_Type_create_f90_integer", lambda r: types.f90_integer(r))
bind("MPI_Type_match_size", lambda typeclass, size: types.match_size(typeclass, size))
bind("MPI_Type_get_value_index", lambda value_type, index_type: types.value_index(value_type, index_type))


@binding
def MPI_Type_dup(oldtype: Datatype, newtype: Any) -> None:
    newtype[0] = abi.types.null  # stays so if a copy callback fails
    newtype[0] = abi.put_type(types.duplicate(oldtype))


@binding
def MPI_Type_vector(count: int, blocklength: int, stride: int, oldtype: Datatype, large: bool) -> Datatype:
    return types.vector(count, blocklength, stride, oldtype, large)


@_both("MPI_Type_create_hvector", "MPI_Type_hvector")
def _hvector(count: int, blocklength: int, stride: int, oldtype: Datatype, large: bool) -> Datatype:
    return types.hvector(count, blocklength, stride, oldtype, large)


@binding
def MPI_Type_indexed(
    count: int, array_of_blocklengths: Any, array_of_displacements: Any, oldtype: Datatype, large: bool
) -> Datatype:
    lengths, displacements = abi.ints(array_of_blocklengths, count), abi.ints(array_of_displacements, count)
    return types.indexed(lengths, displacements, oldtype, large)


@_both("MPI_Type_create_hindexed", "MPI_Type_hindexed")
def _hindexed(
    count: int, array_of_blocklengths: Any, array_of_displacements: Any, oldtype: Datatype, large: bool
) -> Datatype:
    lengths, displacements = abi.ints(array_of_blocklengths, count), abi.ints(array_of_displacements, count)
    return types.hindexed(lengths, displacements, oldtype, large)


@binding
def MPI_Type_create_indexed_block(
    count: int, blocklength: int, array_of_displacements: Any, oldtype: Datatype, large: bool
) -> Datatype:
    return types.indexed_block(blocklength, abi.ints(array_of_displacements, count), oldtype, large)


@binding
def MPI_Type_create_hindexed_block(
    count: int, blocklength: int, array_of_displacements: Any, oldtype: Datatype, large: bool
) -> Datatype:
    return types.hindexed_block(blocklength, abi.ints(array_of_displacements, count), oldtype, large)


@_both("MPI_Type_create_struct", "MPI_Type_struct")
def _struct(
    count: int, array_of_blocklengths: Any, array_of_displacements: Any, array_of_types: Any, large: bool
) -> Datatype:
    lengths, displacements = abi.ints(array_of_blocklengths, count), abi.ints(array_of_displacements, count)
    olds = [abi.types[handle] for handle in abi.ints(array_of_types, count)]
    return types.struct(lengths, displacements, olds, large)


@binding
def MPI_Type_create_subarray(
    ndims: int,
    array_of_sizes: Any,
    array_of_subsizes: Any,
    array_of_starts: Any,
    order: int,
    oldtype: Datatype,
    large: bool,
) -> Datatype:
    sizes, subsizes, starts = (abi.ints(array, ndims) for array in (array_of_sizes, array_of_subsizes, array_of_starts))
    return types.subarray(sizes, subsizes, starts, abi.inward("ORDER", types.Order, order), oldtype, large)


@binding
def MPI_Type_create_darray(
    size: int,
    rank: int,
    ndims: int,
    array_of_gsizes: Any,
    array_of_distribs: Any,
    array_of_dargs: Any,
    array_of_psizes: Any,
    order: int,
    oldtype: Datatype,
    large: bool,
) -> Datatype:
    sizes, distributions = abi.ints(array_of_gsizes, ndims), abi.ints(array_of_distribs, ndims)
    dealt = [abi.inward("DISTRIBUTE", types.Distribution, value) for value in distributions]
    default = abi.constants["MPI_DISTRIBUTE_DFLT_DARG"]
    arguments = [types.DEFAULT_ARGUMENT if value == default else value for value in abi.ints(array_of_dargs, ndims)]
    grid = abi.ints(array_of_psizes, ndims)
    how = abi.inward("ORDER", types.Order, order)
    return types.darray(size, rank, sizes, dealt, arguments, grid, how, oldtype, large)


# Life


@binding
def MPI_Type_commit(datatype: Any) -> None:
    abi.types[datatype[0]].commit()


@binding
def MPI_Type_free(datatype: Any) -> None:
    handle = datatype[0]
    old = abi.types[handle]
    if old.predefined:
        raise MpiError(
            ErrorClass.TYPE, f"MPI_Type_free: {old.name or 'the datatype'} is predefined and cannot be freed"
        )
    if abi.types.is_only(handle):
        old.attributes.clear(old)  # a delete callback that fails keeps the datatype, as it keeps a communicator
    abi.types.remove(handle)
    datatype[0] = abi.types.null


bind("MPI_Type_set_name", lambda datatype, type_name: datatype.set_name(type_name))
bind("MPI_Type_get_name", lambda datatype: "MPI_DATATYPE_NULL" if datatype is None else datatype.name)

# Inquiry

for _name in ("MPI_Type_size", "MPI_Type_size_x"):
    bind(_name, lambda datatype: datatype.size)
for _name in ("MPI_Type_get_extent", "MPI_Type_get_extent_x"):
    bind(_name, lambda datatype: (datatype.lb, datatype.extent))
for _name in ("MPI_Type_get_true_extent", "MPI_Type_get_true_extent_x"):
    bind(_name, lambda datatype: (datatype.true_lb, datatype.true_extent))
bind("MPI_Type_extent", lambda datatype: datatype.extent)
bind("MPI_Type_lb", lambda datatype: datatype.lb)
bind("MPI_Type_ub", lambda datatype: datatype.ub)


# Packing elements of a datatype into a buffer, and back.


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
    matching.check_representation("MPI_Pack_external", datarep)
    _buffers("MPI_Pack_external", "inbuf", inbuf, incount, datatype, "outbuf", outbuf)
    at = position[0]
    _room("MPI_Pack_external", at, matching.size(incount, datatype), outsize)
    position[0] = at + matching.pack(inbuf, incount, datatype, outbuf + at)


@binding
def MPI_Unpack_external(
    datarep: str, inbuf: int, insize: int, position: Any, outbuf: int, outcount: int, datatype: Datatype
) -> None:
    matching.check_representation("MPI_Unpack_external", datarep)
    _buffers("MPI_Unpack_external", "outbuf", outbuf, outcount, datatype, "inbuf", inbuf)
    at = position[0]
    _room("MPI_Unpack_external", at, matching.size(outcount, datatype), insize)
    position[0] = at + matching.unpack(inbuf + at, outbuf, outcount, datatype)


@binding
def MPI_Pack_external_size(datarep: str, incount: int, datatype: Datatype) -> int:
    matching.check_representation("MPI_Pack_external_size", datarep)
    _packable("MPI_Pack_external_size", datatype)
    return matching.size(incount, datatype)


# The functions that tell how a datatype was made: its envelope and its contents.


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
