"""Datatypes: constructors, sizes and bounds, names."""

from collections.abc import Callable
from typing import Any

from ...mpi import datatypes as types
from ...mpi.datatypes import Datatype
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
