"""Cartesian, graph and distributed-graph topologies."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_host.mpi import MpiError, creation, grids
from lanai_host.mpi import grids as graphs
from lanai_host.mpi.constants import PROC_NULL, UNDEFINED, TopologyKind
from lanai_host.mpi.topology import dims_create, topology_test

from .ranks import run


@pytest.mark.parametrize(
    ("nodes", "dims", "balanced"),
    [
        (6, [0, 0], [3, 2]),
        (7, [0, 0], [7, 1]),
        (6, [0, 3, 0], [2, 3, 1]),
        (16, [0, 0], [4, 4]),
        (12, [0, 0, 0], [3, 2, 2]),
        (36, [0, 0, 0], [4, 3, 3]),
        (1, [0, 0], [1, 1]),
        (5, [5], [5]),
        # MPICH 5.0.2, where the smallest largest factor alone would have chosen otherwise. All
        # others up to 6,000 nodes in up to 4 dimensions, free or with one of 2 to 6 given, were the
        # same already.
        (360, [0, 0, 0], [10, 6, 6]),
        (2160, [0, 0, 0, 0], [10, 6, 6, 6]),
        (3600, [0, 0, 0, 0], [10, 10, 6, 6]),
        (3696, [0, 0, 0], [22, 14, 12]),
        (4620, [0, 0, 0], [22, 15, 14]),
        (4680, [0, 0, 0, 0], [13, 10, 6, 6]),
        (5850, [0, 0, 0], [26, 15, 15]),
        (735134400, [0, 0, 0, 0], [170, 168, 165, 156]),
        (2**31 - 1, [0, 0], [2**31 - 1, 1]),
    ],
)
def test_dims_create(nodes, dims, balanced):
    assert dims_create(nodes, dims) == balanced


@given(st.integers(1, 5000), st.integers(1, 4))
def test_dims_multiply_to_the_nodes_and_do_not_increase(nodes, count):
    dims = dims_create(nodes, [0] * count)
    assert prod(dims) == nodes
    assert dims == sorted(dims, reverse=True)


@pytest.mark.parametrize("nodes", range(1, 400))
def test_dims_are_as_close_as_can_be(nodes):
    grids = (
        (nodes // (b * c), b, c)
        for c in range(1, nodes + 1)
        if nodes % c == 0
        for b in range(c, nodes // c + 1)
        if nodes // c % b == 0
    )
    closest = min(max(grid) - min(grid) for grid in grids)
    dims = dims_create(nodes, [0, 0, 0])
    assert dims[0] - dims[2] == closest


def test_dims_that_cannot_be():
    with pytest.raises(MpiError, match=r"7 nodes do not make a grid of \[2, 0\], whose product is 2"):
        dims_create(7, [2, 0])


def test_cartesian():
    def program(world):
        comm = world.comm_world
        grid = grids.cart_create(comm, [3, 2], [True, False], False)
        if comm.rank == 6:
            assert grid is None
            return
        assert topology_test(grid.topology) == TopologyKind.CART
        assert grids.cart_get(grid) == ([3, 2], [True, False], [comm.rank // 2, comm.rank % 2])
        for rank in range(6):
            assert grids.cart_rank(grid, grids.cart_coords(grid, rank)) == rank
        assert grids.cart_rank(grid, [-1, 1]) == 5
        row, column = divmod(comm.rank, 2)
        assert grids.cart_shift(grid, 0, 1) == ((row - 1) % 3 * 2 + column, (row + 1) % 3 * 2 + column)
        assert grids.cart_shift(grid, 1, 1) == (
            PROC_NULL if column == 0 else comm.rank - 1,
            PROC_NULL if column else comm.rank + 1,
        )
        line = grids.cart_sub(grid, [True, False])
        assert grids.cart_get(line) == ([3], [True], [row])
        assert grids.cartdim_get(grids.cart_sub(grid, [False, False])) == 0
        assert grids.cartdim_get(creation.duplicate(grid)) == 2
        assert grids.cart_map(grid, [2, 2], [False, False]) == (comm.rank if comm.rank < 4 else UNDEFINED)
        with pytest.raises(MpiError, match=r"MPI_Cart_rank: coords\[1\] is 2; it must be from 0 to 1"):
            grids.cart_rank(grid, [0, 2])
        with pytest.raises(MpiError, match="MPI_Cart_shift: direction is 2"):
            grids.cart_shift(grid, 2, 1)
        with pytest.raises(MpiError, match=r"MPI_Cart_create: a grid of \[4, 4\] needs 16 processes"):
            grids.cart_create(grid, [4, 4], [False, False], False)
        with pytest.raises(MpiError, match="MPI_Graph_get: the communicator has no graph topology"):
            graphs.graph_get(grid)

    run(7, program)


def test_graph():
    def program(world):
        comm = world.comm_world
        graph = graphs.graph_create(comm, [2, 3, 4], [1, 2, 0, 0], False)
        if comm.rank == 3:
            assert graph is None
            return
        assert graphs.graphdims_get(graph) == (3, 4)
        assert graphs.graph_neighbors(graph, 0) == [1, 2]
        assert graphs.graph_neighbors(graph, 2) == [0]
        assert graphs.graph_get(graph) == ([2, 3, 4], [1, 2, 0, 0])
        with pytest.raises(MpiError, match=r"MPI_Graph_map: edges\[0\] is 9"):
            graphs.graph_map(graph, [1], [9])

    run(4, program)


def test_distributed_graph():
    """Rank 0 alone describes a ring; all learn their part."""

    def program(world):
        comm = world.comm_world
        size = comm.size
        arguments = ([0, 1, 2], [1, 1, 1], [1, 2, 0], [5, 6, 7]) if comm.rank == 0 else ([], [], [], [])
        ring = graphs.dist_graph_create(comm, *arguments, None, False)
        assert graphs.dist_graph_neighbors_count(ring) == (1, 1, True)
        sources, source_weights, destinations, destination_weights = graphs.dist_graph_neighbors(ring)
        assert sources == [(comm.rank - 1) % size]
        assert destinations == [(comm.rank + 1) % size]
        assert source_weights == [5 + (comm.rank - 1) % size]
        assert destination_weights == [5 + comm.rank]
        same = graphs.dist_graph_create_adjacent(comm, sources, None, destinations, None, None, False)
        assert graphs.dist_graph_neighbors(same) == (sources, [], destinations, [])
        assert graphs.dist_graph_neighbors_count(same) == (1, 1, False)

    run(3, program)
