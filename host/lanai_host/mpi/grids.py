"""Cartesian topologies. Ranks are never reordered: every node is as near as any other."""

from collections.abc import Sequence
from math import prod

from .arguments import check_intra, check_member
from .communicator import Communicator
from .constants import UNDEFINED
from .errors import ErrorClass, MpiError
from .making import create_from, split_as
from .topology import Cartesian


def cart_create(comm: Communicator, dims: Sequence[int], periods: Sequence[bool], reorder: bool) -> Communicator | None:
    """MPI_Cart_create."""
    check_intra(comm, "MPI_Cart_create")
    nodes = _check_grid(comm, "MPI_Cart_create", dims)
    made = create_from(comm, comm.group.first(nodes), "MPI_Cart_create")
    if made is not None:
        made.topology = Cartesian(tuple(dims), tuple(bool(period) for period in periods))
    return made


def cart_map(comm: Communicator, dims: Sequence[int], periods: Sequence[bool]) -> int:
    """MPI_Cart_map."""
    nodes = _check_grid(comm, "MPI_Cart_map", dims)
    return comm.rank if comm.rank < nodes else UNDEFINED


def _check_grid(comm: Communicator, call: str, dims: Sequence[int]) -> int:
    for index, extent in enumerate(dims):
        if extent < 1:
            raise MpiError(ErrorClass.DIMS, f"{call}: dims[{index}] is {extent}; it must be at least 1")
    nodes = prod(dims)
    if nodes > comm.size:
        raise MpiError(
            ErrorClass.DIMS,
            f"{call}: a grid of {list(dims)} needs {nodes} processes, the communicator has {comm.size}",
        )
    return nodes


def cartdim_get(comm: Communicator) -> int:
    """MPI_Cartdim_get."""
    return len(_grid(comm, "MPI_Cartdim_get").dims)


def cart_get(comm: Communicator) -> tuple[list[int], list[bool], list[int]]:
    """MPI_Cart_get: (dims, periods, own coordinates)."""
    grid = _grid(comm, "MPI_Cart_get")
    return list(grid.dims), list(grid.periods), grid.coords_of(comm.rank)


def cart_rank(comm: Communicator, coords: Sequence[int]) -> int:
    """MPI_Cart_rank."""
    grid = _grid(comm, "MPI_Cart_rank")
    for index, coordinate in enumerate(coords[: len(grid.dims)]):
        if not grid.periods[index] and not 0 <= coordinate < grid.dims[index]:
            raise MpiError(
                ErrorClass.ARG,
                f"MPI_Cart_rank: coords[{index}] is {coordinate}; it must be from 0 to {grid.dims[index] - 1}",
            )
    return grid.rank_of(list(coords[: len(grid.dims)]))


def cart_coords(comm: Communicator, rank: int) -> list[int]:
    """MPI_Cart_coords."""
    grid = _grid(comm, "MPI_Cart_coords")
    check_member(comm, "MPI_Cart_coords", rank)
    return grid.coords_of(rank)


def cart_shift(comm: Communicator, direction: int, displacement: int) -> tuple[int, int]:
    """MPI_Cart_shift: (source, destination)."""
    grid = _grid(comm, "MPI_Cart_shift")
    if not 0 <= direction < len(grid.dims):
        raise MpiError(
            ErrorClass.ARG,
            f"MPI_Cart_shift: direction is {direction}, but the topology has {len(grid.dims)} dimensions",
        )
    return grid.shifted(comm.rank, direction, -displacement), grid.shifted(comm.rank, direction, displacement)


def cart_sub(comm: Communicator, remain: Sequence[bool]) -> Communicator:
    """MPI_Cart_sub."""
    grid = _grid(comm, "MPI_Cart_sub")
    coords = grid.coords_of(comm.rank)
    color = key = 0
    for coordinate, extent, kept in zip(coords, grid.dims, remain, strict=False):
        if kept:
            key = key * extent + coordinate
        else:
            color = color * extent + coordinate
    made = split_as(comm, "MPI_Cart_sub", color, key)
    assert made is not None
    kept_dims = [index for index in range(len(grid.dims)) if remain[index]]
    made.topology = Cartesian(
        tuple(grid.dims[index] for index in kept_dims), tuple(grid.periods[index] for index in kept_dims)
    )
    return made


def _grid(comm: Communicator, call: str) -> Cartesian:
    if not isinstance(comm.topology, Cartesian):
        raise MpiError(ErrorClass.TOPOLOGY, f"{call}: the communicator has no Cartesian topology")
    return comm.topology
