"""Every collective, every algorithm, against what numpy says, blocking, non-blocking and
persistent."""

import numpy as np
import pytest

from lanai_host.mpi import MpiError, creation, graphs, grids, intercomm
from lanai_host.mpi import collectives as coll
from lanai_host.mpi.collectives.parts import Mixed, Part, Spread
from lanai_host.mpi.collectives.schedule import CREATION, name_of, next_tag
from lanai_host.mpi.constants import IN_PLACE, PROC_NULL, ROOT
from lanai_host.mpi.datatypes import contiguous, vector
from lanai_host.mpi.memory import array_at
from lanai_host.mpi.op import PREDEFINED as OPS
from lanai_host.mpi.op import Op
from lanai_host.stacks.ideal.device import IdealDevice

from .. import ranks
from ..ranks import LateDevice, buffer, ints

SIZES = [1, 2, 3, 4, 5, 8, 9]
# Element counts on both sides of every threshold in lanai_host.choices (elements of 8 bytes).
COUNTS = [0, 1, 31, 300, 3000, 20000]
SUM = OPS["MPI_SUM"]


DEVICES = [IdealDevice, LateDevice]


@pytest.fixture(params=DEVICES)
def run(request):
    """Every test runs on a device whose sends end at once, and on one whose operations end
    later."""
    return lambda size, program: ranks.run(size, program, request.param)


def data(rank, count, blocks=1):
    """Different in every element of every rank."""
    return np.arange(count * blocks, dtype=np.int64) * 100 + rank


def each_way(comm, plan, *arguments):
    """Run the plan as the blocking call; then the other ways, which must give the same."""
    coll.run(comm, plan, *arguments)
    yield
    coll.start(comm, plan, *arguments).wait()
    yield
    request = coll.prepare(comm, plan, *arguments)
    for _ in range(2):
        request.start()
        request.wait()
        yield


@pytest.mark.parametrize("size", SIZES)
def test_rooted(run, size):
    def program(world):
        comm = world.comm_world
        root = size - 1
        for count in COUNTS:
            mine = data(comm.rank, count)
            address, _, kind = buffer(mine)
            everything = np.stack([data(rank, count) for rank in range(size)]).ravel()
            got = np.zeros(count * size, np.int64)
            for _ in each_way(comm, coll.gather, Part(address, count, kind), Part(got.ctypes.data, count, kind), root):
                assert np.array_equal(got, everything) or comm.rank != root
                got[:] = 0
            part = np.zeros(count, np.int64)
            source = everything.ctypes.data
            for _ in each_way(comm, coll.scatter, Part(source, count, kind), Part(part.ctypes.data, count, kind), root):
                assert np.array_equal(part, mine)
                part[:] = 0
            message = data(root, count) if comm.rank == root else np.zeros(count, np.int64)
            for _ in each_way(comm, coll.bcast, *buffer(message), root):
                assert np.array_equal(message, data(root, count))
                if comm.rank != root:
                    message[:] = 0

    run(size, program)


@pytest.mark.parametrize("size", [1, 3, 4, 5])
def test_rooted_in_place_and_varied(run, size):
    def program(world):
        comm = world.comm_world
        root = size // 2
        rank, at_root = comm.rank, comm.rank == root
        for count in (2, 400):
            kind = buffer(data(0, 1))[2]
            whole = np.zeros(count * size, np.int64)
            whole[rank * count : (rank + 1) * count] = data(rank, count)
            own = data(rank, count)
            coll.run(
                comm,
                coll.gather,
                Part(IN_PLACE if at_root else own.ctypes.data, count, kind),
                Part(whole.ctypes.data, count, kind),
                root,
            )
            expected = np.concatenate([data(other, count) for other in range(size)])
            if at_root:
                assert np.array_equal(whole, expected)
                own[:] = 0
            target = IN_PLACE if at_root else own.ctypes.data
            coll.run(comm, coll.scatter, Part(whole.ctypes.data, count, kind), Part(target, count, kind), root)
            assert np.array_equal(own, np.zeros(count) if at_root else data(rank, count))
        counts = [other + 1 for other in range(size)]
        starts = [6 * other for other in range(size)]
        room = np.full(6 * size + 6, -1, np.int64)
        own = data(rank, counts[rank])
        receive = Spread(room.ctypes.data, counts, starts, kind)
        coll.run(comm, coll.gatherv, Part(own.ctypes.data, own.size, kind), receive, root)
        if at_root:
            for other in range(size):
                assert np.array_equal(room[starts[other]][None], data(other, 1))
        back = np.zeros(counts[rank], np.int64)
        if at_root:
            for other in range(size):
                room[starts[other] : starts[other] + counts[other]] = other
        coll.run(
            comm,
            coll.scatterv,
            Spread(room.ctypes.data, counts, starts, kind),
            Part(back.ctypes.data, back.size, kind),
            root,
        )
        assert back[0] == rank

    run(size, program)


@pytest.mark.parametrize("size", SIZES)
def test_all_to_all(run, size):
    def program(world):
        comm = world.comm_world
        rank = comm.rank
        for count in COUNTS[:-1]:
            mine = data(rank, count)
            address, _, kind = buffer(mine)
            everything = np.concatenate([data(other, count) for other in range(size)])
            got = np.zeros(count * size, np.int64)
            for _ in each_way(comm, coll.allgather, Part(address, count, kind), Part(got.ctypes.data, count, kind)):
                assert np.array_equal(got, everything)
                got[:] = 0
            got[rank * count : (rank + 1) * count] = mine
            coll.run(comm, coll.allgather, Part(IN_PLACE, 0, kind), Part(got.ctypes.data, count, kind))
            assert np.array_equal(got, everything)
            rows = data(rank, count, size)
            columns = np.concatenate(
                [data(other, count, size)[rank * count : (rank + 1) * count] for other in range(size)]
            )
            for _ in each_way(
                comm, coll.alltoall, Part(rows.ctypes.data, count, kind), Part(got.ctypes.data, count, kind)
            ):
                assert np.array_equal(got, columns)
                got[:] = 0
            coll.run(comm, coll.alltoall, Part(IN_PLACE, 0, kind), Part(rows.ctypes.data, count, kind))
            assert np.array_equal(rows, columns)

    run(size, program)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_varied_forms(run, size):
    def program(world):
        comm = world.comm_world
        rank = comm.rank
        kind = buffer(data(0, 1))[2]
        counts = [(other + 1) % 3 for other in range(size)]
        starts = np.cumsum([0, *counts[:-1]]).tolist()
        got = np.zeros(sum(counts) + 1, np.int64)
        mine = data(rank, counts[rank])
        coll.run(
            comm,
            coll.allgatherv,
            Part(mine.ctypes.data, mine.size, kind),
            Spread(got.ctypes.data, counts, starts, kind),
        )
        expected = np.concatenate([data(other, counts[other]) for other in range(size)])
        assert np.array_equal(got[:-1], expected)
        # Rank r sends r + s elements to rank s.
        send_counts = [rank + other for other in range(size)]
        send_starts = np.cumsum([0, *send_counts[:-1]]).tolist()
        rows = np.concatenate([np.full(n, 10 * rank + other) for other, n in enumerate(send_counts)])
        rows = np.append(rows, 0).astype(np.int64)
        got = np.zeros(sum(send_counts) + 1, np.int64)
        expected = np.concatenate([np.full(rank + other, 10 * other + rank) for other in range(size)])
        coll.run(
            comm,
            coll.alltoallv,
            Spread(rows.ctypes.data, send_counts, send_starts, kind),
            Spread(got.ctypes.data, send_counts, send_starts, kind),
        )
        assert np.array_equal(got[:-1], expected)
        got[:] = 0
        in_bytes = [8 * start for start in send_starts]
        kinds = [kind] * size
        request = coll.start(
            comm,
            coll.alltoallw,
            Mixed(rows.ctypes.data, send_counts, in_bytes, kinds),
            Mixed(got.ctypes.data, send_counts, in_bytes, kinds),
        )
        request.wait()
        assert np.array_equal(got[:-1], expected)

    run(size, program)


def concatenate(incoming, inout, count, datatype):
    """An operation that does not commute: keeps the digits of both, left to right."""
    left, right = array_at(incoming, count, np.int64), array_at(inout, count, np.int64)
    digits = np.where(right > 9, 2, 1) if right.size == 0 else np.floor(np.log10(np.maximum(right, 1))).astype(int) + 1
    right[:] = left * 10**digits + right


ORDERED = Op(concatenate, commute=False)


@pytest.mark.parametrize("size", SIZES)
def test_reductions(run, size):
    def program(world):
        comm = world.comm_world
        rank, root = comm.rank, size // 2
        for count in COUNTS:
            mine = data(rank, count)
            address, _, kind = buffer(mine)
            total = sum(data(other, count) for other in range(size))
            got = np.zeros(count, np.int64)
            for _ in each_way(comm, coll.allreduce, address, got.ctypes.data, count, kind, SUM):
                assert np.array_equal(got, total)
                got[:] = 0
            for _ in each_way(comm, coll.reduce, address, got.ctypes.data, count, kind, SUM, root):
                assert np.array_equal(got, total) or rank != root
                got[:] = 0
            got[:] = mine
            coll.run(comm, coll.allreduce, IN_PLACE, got.ctypes.data, count, kind, SUM)
            assert np.array_equal(got, total)
            for _ in each_way(comm, coll.scan, address, got.ctypes.data, count, kind, SUM):
                assert np.array_equal(got, sum(data(other, count) for other in range(rank + 1)))
                got[:] = -1
            for _ in each_way(comm, coll.exscan, address, got.ctypes.data, count, kind, SUM):
                below = sum(data(other, count) for other in range(rank)) if rank else np.full(count, -1)
                assert np.array_equal(got, below)
            rows = data(rank, count, size)
            total = sum(data(other, count, size) for other in range(size))[rank * count : (rank + 1) * count]
            for _ in each_way(comm, coll.reduce_scatter_block, rows.ctypes.data, got.ctypes.data, count, kind, SUM):
                assert np.array_equal(got, total)
                got[:] = 0
            coll.run(comm, coll.reduce_scatter, rows.ctypes.data, got.ctypes.data, [count] * size, kind, SUM)
            assert np.array_equal(got, total)

    run(size, program)


@pytest.mark.parametrize("size", SIZES)
def test_order_is_kept_where_it_matters(run, size):
    def program(world):
        comm = world.comm_world
        digit = np.array([comm.rank + 1], np.int64)
        kind = buffer(digit)[2]
        got = np.zeros(1, np.int64)
        everyone = int("".join(str(other + 1) for other in range(size)))
        below = int("".join(str(other + 1) for other in range(comm.rank)) or 0)
        coll.run(comm, coll.allreduce, digit.ctypes.data, got.ctypes.data, 1, kind, ORDERED)
        assert got[0] == everyone
        for root in range(size):
            coll.run(comm, coll.reduce, digit.ctypes.data, got.ctypes.data, 1, kind, ORDERED, root)
            assert got[0] == everyone or comm.rank != root
        coll.run(comm, coll.scan, digit.ctypes.data, got.ctypes.data, 1, kind, ORDERED)
        assert got[0] == int(f"{below or ''}{comm.rank + 1}")
        got[0] = 0
        coll.run(comm, coll.exscan, digit.ctypes.data, got.ctypes.data, 1, kind, ORDERED)
        assert got[0] == below
        row = np.full(size, comm.rank + 1, np.int64)
        coll.run(comm, coll.reduce_scatter_block, row.ctypes.data, got.ctypes.data, 1, kind, ORDERED)
        assert got[0] == everyone

    run(size, program)


def test_derived_types_travel_unpacked(run):
    """Every second element goes; the gaps stay."""

    def program(world):
        comm = world.comm_world
        kind = buffer(data(0, 1))[2]
        striped = vector(3, 1, 2, kind)
        striped.commit()
        array = data(comm.rank, 6)
        if comm.rank == 1:
            array[:] = -5
        coll.run(comm, coll.bcast, array.ctypes.data, 1, striped, 0)
        assert array[::2].tolist() == [0, 200, 400] or comm.rank > 1
        assert array[1] == (-5 if comm.rank == 1 else 100 + comm.rank)
        rows = np.zeros(3 * comm.size, np.int64)
        coll.run(comm, coll.gather, Part(array.ctypes.data, 1, striped), Part(rows.ctypes.data, 3, kind), 0)
        if comm.rank == 0:
            assert rows.reshape(-1, 3)[:, 1].tolist() == [200] * comm.size

    run(5, program)


def test_intercommunicators(run):
    def program(world):
        comm = world.comm_world
        side = comm.rank % 2
        half = creation.split(comm, side, comm.rank)
        inter = intercomm.create_intercomm(half, 0, comm, 1 - side, 7)
        there, here = inter.remote_size, inter.size
        kind = buffer(ints(0))[2]
        one, out = ints(comm.rank + 1), np.zeros(8, np.int32)
        others = [rank + 1 for rank in range(comm.size) if rank % 2 != side]
        coll.run(inter, coll.barrier)
        coll.run(inter, coll.allreduce, one.ctypes.data, out.ctypes.data, 1, kind, SUM)
        assert out[0] == sum(others)
        coll.run(inter, coll.allgather, Part(one.ctypes.data, 1, kind), Part(out.ctypes.data, 1, kind))
        assert out[:there].tolist() == others
        row = np.arange(there, dtype=np.int32) + 10 * (comm.rank + 1)
        coll.run(inter, coll.alltoall, Part(row.ctypes.data, 1, kind), Part(out.ctypes.data, 1, kind))
        assert out[:there].tolist() == [10 * other + inter.rank for other in others]
        root = ROOT if comm.rank == 1 else PROC_NULL if side else 0
        word = ints(77 if comm.rank == 1 else 0)
        coll.run(inter, coll.bcast, *buffer(word), root)
        assert word[0] == (77 if side == 0 or comm.rank == 1 else 0)
        coll.run(inter, coll.gather, Part(one.ctypes.data, 1, kind), Part(out.ctypes.data, 1, kind), root)
        assert comm.rank != 1 or out[:there].tolist() == others
        coll.run(inter, coll.scatter, Part(out.ctypes.data, 1, kind), Part(word.ctypes.data, 1, kind), root)
        assert side or word[0] == one[0]
        coll.run(inter, coll.reduce, one.ctypes.data, out.ctypes.data, 1, kind, SUM, root)
        assert comm.rank != 1 or out[0] == sum(others)
        counts = [2] * here if here == there else None
        if counts:
            row = np.full(2 * here, comm.rank + 1, np.int32)
            coll.run(inter, coll.reduce_scatter, row.ctypes.data, out.ctypes.data, counts, kind, SUM)
            assert out[:2].tolist() == [sum(others)] * 2
        twin = creation.duplicate(inter)
        merged = intercomm.merge(twin, bool(side))
        assert merged.rank == (comm.rank // 2 + side * ((comm.size + 1) // 2))
        part = creation.split(twin, 0 if inter.rank == 0 else 1, 0)
        if min(here, there) > 1 or inter.rank == 0:
            assert part.remote_size == (1 if inter.rank == 0 else there - 1)

    for size in (2, 4, 5):
        run(size, program)


def test_neighbourhoods(run):
    def program(world):
        comm = world.comm_world
        kind = buffer(ints(0))[2]
        ring = grids.cart_create(comm, [comm.size, 1], [True, False], False)
        row = ints(1, 2, 3, 4) + 10 * comm.rank
        got = np.full(4, -1, np.int32)
        coll.run(ring, coll.neighbor_alltoall, Part(row.ctypes.data, 1, kind), Part(got.ctypes.data, 1, kind))
        below, above = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        assert got.tolist() == [10 * below + 2, 10 * above + 1, -1, -1]
        coll.run(ring, coll.neighbor_allgather, Part(row.ctypes.data, 1, kind), Part(got.ctypes.data, 1, kind))
        assert got.tolist() == [10 * below + 1, 10 * above + 1, -1, -1]
        star = graphs.dist_graph_create_adjacent(comm, [above], None, [below], None, None, False)
        coll.start(star, coll.neighbor_allgather, Part(row.ctypes.data, 2, kind), Part(got.ctypes.data, 2, kind)).wait()
        assert got.tolist()[:2] == [10 * above + 1, 10 * above + 2]

    for size in (1, 2, 3):
        run(size, program)


def test_operations_on_all_kinds_of_types():
    from lanai_host.mpi.datatypes import PREDEFINED
    from lanai_host.mpi.op import reduce_local

    pairs = np.array([(3, 1), (5, 2), (4, 7)], PREDEFINED["MPI_2INT"].dtype)
    others = np.array([(3, 0), (5, 9), (6, 1)], PREDEFINED["MPI_2INT"].dtype)
    reduce_local(pairs.ctypes.data, others.ctypes.data, 3, PREDEFINED["MPI_2INT"], OPS["MPI_MAXLOC"])
    assert others.tolist() == [(3, 0), (5, 2), (6, 1)]
    left, right = np.array([1 + 2j]), np.array([3 - 1j])
    reduce_local(left.ctypes.data, right.ctypes.data, 1, PREDEFINED["MPI_C_DOUBLE_COMPLEX"], OPS["MPI_PROD"])
    assert right[0] == 5 + 5j
    truth = np.array([0, 2, 0, 7], np.int32)
    reduce_local(truth.ctypes.data, truth[2:].ctypes.data, 2, PREDEFINED["MPI_LOGICAL"], OPS["MPI_LXOR"])
    assert truth[2:].tolist() == [0, 0]
    with pytest.raises(MpiError, match=r"MPI_Reduce_local: MPI_BAND is not defined on the datatype 'MPI_DOUBLE'"):
        reduce_local(0, 0, 1, PREDEFINED["MPI_DOUBLE"], OPS["MPI_BAND"])
    for inbuf, inoutbuf, told in (
        (0, left.ctypes.data, "inbuf is a null pointer"),
        (left.ctypes.data, 0, "inoutbuf is a null pointer"),
        (IN_PLACE, left.ctypes.data, "inbuf is MPI_IN_PLACE"),
    ):
        with pytest.raises(MpiError, match=told):
            reduce_local(inbuf, inoutbuf, 1, PREDEFINED["MPI_C_DOUBLE_COMPLEX"], OPS["MPI_SUM"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda kind, array: (coll.bcast, array, -1, kind, 0), "MPI_Bcast: count is -1; it must not be negative"),
        (lambda kind, array: (coll.bcast, array, 1, kind, 2), "MPI_Bcast: root is 2; it must be from 0 to 1"),
        (lambda kind, array: (coll.allreduce, array, IN_PLACE, 1, kind, SUM), "MPI_Allreduce: recvbuf is MPI_IN_PLACE"),
        (
            lambda kind, array: (coll.reduce, array, array, 1, kind, SUM, 0),
            "sendbuf and recvbuf are the same; use MPI_IN_PLACE",
        ),
        (lambda kind, array: (coll.neighbor_alltoall, Part(array, 1, kind), Part(array, 1, kind)), "no topology"),
        (lambda kind, array: (coll.bcast, 0, 1, kind, 0), "MPI_Bcast: buffer is a null pointer, but the count is 1"),
        (lambda kind, array: (coll.allreduce, 0, array, 2, kind, SUM), "sendbuf is a null pointer, but the count is 2"),
        (lambda kind, array: (coll.allgather, Part(array, 1, kind), Part(array, 1, kind)), "are the same"),
        (lambda kind, array: (coll.alltoall, Part(array, 1, kind), Part(0, 1, kind)), "recvbuf is a null pointer"),
        (
            lambda kind, array: (coll.gatherv, Part(array, 1, kind), Spread(0, [1, 0], [0, 0], kind), 0),
            "recvbuf is a null",
        ),
    ],
)
def test_bad_arguments(run, arguments, message):
    def program(world):
        if world.rank:
            return
        array = ints(0, 0)
        with pytest.raises(MpiError, match=message):
            coll.run(world.comm_world, *arguments(buffer(array)[2], array.ctypes.data))
        world.comm_world.sequence = 0  # the other rank was not there

    run(2, program)


def test_counts_that_do_not_match_are_named(run):
    def program(world):
        array = np.zeros(4, np.int32)
        address, _, kind = buffer(array)
        if world.rank == 0:
            coll.run(world.comm_world, coll.bcast, address, 4, kind, 0)
            return
        with pytest.raises(MpiError, match="MPI_Bcast: rank 0 sent more than the 8 bytes that rank 1 expects"):
            coll.run(world.comm_world, coll.bcast, address, 2, kind, 0)

    run(2, program)


def test_many_at_once_in_the_background(run):
    def program(world):
        comm = world.comm_world
        values = [ints(index + comm.rank) for index in range(50)]
        results = [ints(0) for _ in values]
        kind = buffer(values[0])[2]
        requests = [
            coll.start(comm, coll.allreduce, value.ctypes.data, result.ctypes.data, 1, kind, SUM)
            for value, result in zip(values, results, strict=True)
        ]
        for request in reversed(requests):
            request.wait()
        assert [int(result[0]) for result in results] == [3 * index + 3 for index in range(50)]

    run(3, program)


def test_background_and_blocking_collectives_do_not_meet(run):
    """Rank 0 starts the reduction before the barrier, the others after it."""

    def program(world):
        comm = world.comm_world
        value, got = ints(comm.rank + 1), ints(0)
        arguments = (coll.allreduce, value.ctypes.data, got.ctypes.data, 1, buffer(value)[2], SUM)
        if comm.rank == 0:
            request = coll.start(comm, *arguments)
            coll.run(comm, coll.barrier)
        else:
            coll.run(comm, coll.barrier)
            request = coll.start(comm, *arguments)
        request.wait()
        assert got[0] == 6

    run(3, program)


def test_a_process_that_takes_no_part_needs_no_arguments(run):
    def program(world):
        comm = world.comm_world
        side = min(comm.rank, 1)
        half = creation.split(comm, side, 0)
        inter = intercomm.create_intercomm(half, 0, comm, 1 - side, 7)
        got, kind = ints(0), buffer(ints(0))[2]
        root = 1 if side == 0 else ROOT if inter.rank == 1 else PROC_NULL
        if root == PROC_NULL:
            coll.run(inter, coll.reduce, 0, 0, 0, contiguous(1, kind), SUM, root)
        else:
            coll.run(inter, coll.reduce, buffer(ints(5))[0], got.ctypes.data, 1, kind, OPS["MPI_MAX"], root)
        assert got[0] == (5 if root == ROOT else 0)

    run(3, program)


@pytest.mark.parametrize(
    ("kind", "blocking", "other"),
    [
        (coll.allgather.kind, "MPI_Allgather", "MPI_Iallgather"),
        (coll.exscan.kind, "MPI_Exscan", "MPI_Iexscan"),
        (CREATION, "communicator creation", "communicator creation"),
    ],
)
def test_a_tag_tells_the_collective(kind, blocking, other):
    """So that a report can name a message that no receive took."""

    def program(world):
        comm = world.comm_self
        assert name_of(next_tag(comm, kind, background=False)) == f"{blocking} (collective 1)"
        assert name_of(next_tag(comm, kind, background=True)) == f"{other} (collective 1)"

    ranks.run(1, program)
