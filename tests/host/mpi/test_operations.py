"""The datatypes of each reduction, as MPICH 5.0 has them, and what reductions make of the types that
numpy has not."""

import ctypes
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_host.mpi import ErrorClass, MpiError, creation, grids
from lanai_host.mpi import grids as graphs
from lanai_host.mpi import op as operations
from lanai_host.mpi.communicator import MOST, SeenTypes
from lanai_host.mpi.constants import PROC_NULL, UNDEFINED, TopologyKind
from lanai_host.mpi.datatypes import BYTE, PREDEFINED
from lanai_host.mpi.datatypes.signature import Signature
from lanai_host.mpi.op import real16, real16_bytes
from lanai_host.mpi.topology import dims_create, topology_test

from .ranks import run

# Seen by calling MPI_Reduce_local, MPI_Allreduce and MPI_Scan of MPICH 5.0.2 with each pair. (With
# MPIX_BFLOAT16 that library ends in an assertion of its own.)
ORDER, SUMS = ["MPI_MAX", "MPI_MIN"], ["MPI_SUM", "MPI_PROD"]
LOGICAL, BITWISE = ["MPI_LAND", "MPI_LOR", "MPI_LXOR"], ["MPI_BAND", "MPI_BOR", "MPI_BXOR"]
TAKEN = [
    (
        (
            "CHAR SIGNED_CHAR INT8_T UNSIGNED_CHAR UINT8_T INT16_T UINT16_T INT32_T UINT32_T INT64_T AINT "
            "OFFSET COUNT UINT64_T "
            "SHORT UNSIGNED_SHORT INT UNSIGNED LONG UNSIGNED_LONG LONG_LONG_INT UNSIGNED_LONG_LONG"
        ),
        [*ORDER, *SUMS, *LOGICAL, *BITWISE],
    ),
    ("INTEGER1 INTEGER2 INTEGER INTEGER4 INTEGER8 INTEGER16", [*ORDER, *SUMS, *BITWISE]),
    (
        "REAL2 X_C_FLOAT16 FLOAT REAL REAL4 DOUBLE DOUBLE_PRECISION REAL8 LONG_DOUBLE REAL16",
        [*ORDER, *SUMS],
    ),
    (
        (
            "COMPLEX4 COMPLEX COMPLEX8 C_FLOAT_COMPLEX CXX_FLOAT_COMPLEX DOUBLE_COMPLEX COMPLEX16 C_DOUBLE_COMPLEX "
            "CXX_DOUBLE_COMPLEX C_LONG_DOUBLE_COMPLEX CXX_LONG_DOUBLE_COMPLEX COMPLEX32"
        ),
        SUMS,
    ),
    ("C_BOOL CXX_BOOL LOGICAL1 LOGICAL2 LOGICAL LOGICAL4 LOGICAL8 LOGICAL16", LOGICAL),
    ("BYTE", BITWISE),
    (
        "FLOAT_INT DOUBLE_INT LONG_INT SHORT_INT 2INT LONG_DOUBLE_INT 2INTEGER 2REAL 2DOUBLE_PRECISION",
        ["MPI_MAXLOC", "MPI_MINLOC"],
    ),
    ("CHARACTER PACKED WCHAR LB UB X_BFLOAT16", []),
]
ALLOWED = {f"MPI{name}" if name[:2] == "X_" else f"MPI_{name}": ops for names, ops in TAKEN for name in names.split()}


@pytest.mark.parametrize("name", PREDEFINED)
def test_operations_take_the_datatypes_that_mpich_takes(name):
    datatype = PREDEFINED[name]
    left, right = (ctypes.create_string_buffer(bytes([1] * 64)) for _ in range(2))
    for op in operations.PREDEFINED.values():
        if op.name in ALLOWED[name]:
            operations.reduce_local(ctypes.addressof(left), ctypes.addressof(right), 1, datatype, op)
            continue
        with pytest.raises(MpiError, match=f"{op.name} is not defined on the datatype '{datatype.name}'") as caught:
            operations.reduce_local(ctypes.addressof(left), ctypes.addressof(right), 1, datatype, op)
        assert caught.value.error_class == ErrorClass.OP


def reduced(op, name, left, right):
    inout = ctypes.create_string_buffer(right, len(right))
    incoming = ctypes.create_string_buffer(left, len(left))
    count = len(left) // PREDEFINED[name].size
    operations.reduce_local(
        ctypes.addressof(incoming), ctypes.addressof(inout), count, PREDEFINED[name], operations.PREDEFINED[op]
    )
    return inout.raw


def test_characters_are_small_integers():
    assert reduced("MPI_SUM", "MPI_CHAR", b"\x01\x7f", b"\x02\x01") == b"\x03\x80"
    assert reduced("MPI_MAX", "MPI_CHAR", b"\xff", b"\x01") == b"\x01"  # char is signed here
    assert reduced("MPI_LAND", "MPI_CHAR", b"\x07\x00", b"\x10\x10") == b"\x01\x00"


@pytest.mark.parametrize(
    ("op", "value"), [("SUM", -2), ("PROD", 1 << 126), ("MAX", 5), ("MIN", -(1 << 127)), ("BXOR", -(1 << 127) ^ 5)]
)
def test_wide_integers(op, value):
    a, b = (-(1 << 127), 5) if op not in ("SUM", "PROD") else ((1 << 127) - 1, (1 << 127) - 1)
    if op == "PROD":
        a, b = 1 << 63, (1 << 63) + (1 << 65)
        value = a * b % (1 << 128)
        value -= (value >> 127) << 128
    left, right = (number.to_bytes(16, "little", signed=True) for number in (a, b))
    made = reduced(f"MPI_{op}", "MPI_INTEGER16", left, right)
    assert int.from_bytes(made, "little", signed=True) == value


def test_wide_logicals():
    true, false, odd = b"\1" + bytes(15), bytes(16), bytes(15) + b"\x80"
    assert reduced("MPI_LAND", "MPI_LOGICAL16", true + odd, odd + false) == true + false
    assert reduced("MPI_LXOR", "MPI_LOGICAL16", true + odd, odd + false) == false + true


@pytest.mark.parametrize("value", [0.0, 1.0, -1.5, 3.14159, 2.0**-1074, -(2.0**1023), float("inf"), float("-inf")])
def test_real16_holds_doubles(value):
    exact = Fraction(value) if np.isfinite(value) else value
    assert real16(real16_bytes(exact)) == exact
    encoded = np.longdouble(value).tobytes()  # 15 bits of exponent there too
    assert real16_bytes(exact)[14:] == encoded[8:10]


def test_real16_rounds_once():
    one, tiny = Fraction(1), Fraction(1, 1 << 113)
    ulp = Fraction(1, 1 << 112)

    def total(a, b):
        return real16(reduced("MPI_SUM", "MPI_REAL16", real16_bytes(a), real16_bytes(b)))

    assert total(one, tiny) == one  # a tie goes to even
    assert total(one + ulp, tiny) == one + 2 * ulp
    assert total(one, tiny + tiny / 2) == one + ulp
    least = Fraction(1, 1 << 16494)
    assert real16(real16_bytes(least)) == least
    assert real16(real16_bytes(least / 2)) == 0
    most = (2 - ulp) * Fraction(2) ** 16383
    assert real16(real16_bytes(most)) == most
    assert total(most, most) == float("inf")
    assert total(float("inf"), -most) == float("inf")
    assert np.isnan(total(float("inf"), float("-inf")))
    third = reduced("MPI_PROD", "MPI_REAL16", real16_bytes(Fraction(1, 3)), real16_bytes(Fraction(3)))
    assert real16(third) == 1


def test_complex_kinds_without_numpy():
    halves = np.array([1.5, -2.0, 3.0, 0.5], np.float16)
    made = np.frombuffer(reduced("MPI_PROD", "MPI_COMPLEX4", halves[:2].tobytes(), halves[2:].tobytes()), np.float16)
    assert complex(*made) == (1.5 - 2j) * (3 + 0.5j)
    left, right = (b"".join(real16_bytes(Fraction(part)) for part in parts) for parts in ((1.5, -2), (3, 0.5)))
    made = reduced("MPI_PROD", "MPI_COMPLEX32", left, right)
    assert complex(real16(made[:16]), real16(made[16:])) == (1.5 - 2j) * (3 + 0.5j)


# The types of its messages that a process remembers.


INT, LONG, INT64 = (PREDEFINED[name].signature for name in ("MPI_INT", "MPI_LONG", "MPI_INT64_T"))


def test_equal_messages_are_one():
    seen = SeenTypes()
    for _ in range(3):
        seen.add(True, 0, 1, 5, INT)
    seen.add(False, 0, 1, 5, INT)
    assert sorted(seen.all()) == [(False, 0, 1, 5, "i4"), (True, 0, 1, 5, "i4")]


def test_names_are_those_that_equal_types_share():
    seen = SeenTypes()
    for tag, signature in enumerate((LONG, INT64, BYTE.signature, Signature(((INT, 1), (LONG, 2))))):
        seen.add(True, 0, 1, tag, signature)
    assert [one[4] for one in sorted(seen.all(), key=lambda one: one[3])] == ["i8", "i8", "BYTE", None]


def test_no_more_are_kept_than_there_is_room_for():
    seen = SeenTypes()
    for tag in range(MOST - 1):
        seen.add(True, 0, 1, tag, INT)
    assert seen.complete
    for tag in range(2 * MOST):
        seen.add(True, 0, 1, tag, INT)
    assert not seen.complete
    assert len(list(seen.all())) == MOST


# Cartesian, graph and distributed-graph topologies.


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
