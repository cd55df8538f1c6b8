"""Collectives: each description of arguments serves the blocking, the non-blocking and the
persistent call."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ...mpi import collectives as plans
from ...mpi.collectives.checks import Mixed, Part, Spread
from ...mpi.constants import IN_PLACE, ROOT
from ...mpi.errors import ErrorClass, MpiError
from ...mpi.op import Op, reduce_local
from ..binding import bind, binding
from ..callbacks import handle_type, of_program
from ..context import abi

Arguments = tuple[Any, ...]
Describe = Callable[..., Arguments]


def _family(name: str, plan: Any, describe: Describe) -> None:
    """Bind MPI_<Name>, MPI_I<name> and MPI_<Name>_init. `describe` takes C's arguments and gives
    the plan's."""

    inputs = " ".join(inspect.signature(describe).parameters)

    def variant(way: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments: way(arguments[-1], plan, *describe(*arguments))

    bind(f"MPI_{name.capitalize()}", variant(plans.run), inputs, lenient=True)
    bind(f"MPI_I{name}", variant(plans.start), inputs, lenient=True)
    bind(f"MPI_{name.capitalize()}_init", variant(plans.prepare), inputs, lenient=True)


def _at_root(comm: Any, root: int) -> bool:
    return root == (ROOT if comm.is_inter else comm.rank)


def _ints(pointer: Any, count: int) -> Sequence[int]:
    return abi.ints(pointer, count)


def _types(pointer: Any, count: int) -> list[Any]:
    return [abi.any_type_or_null(handle) for handle in abi.ints(pointer, count)]


def _plain(
    sendbuf: int, sendcount: int, sendtype: Any, recvbuf: int, recvcount: int, recvtype: Any, comm: Any
) -> Arguments:
    return Part(sendbuf, sendcount, sendtype), Part(recvbuf, recvcount, recvtype)


def _rooted(
    sendbuf: int, sendcount: int, sendtype: Any, recvbuf: int, recvcount: int, recvtype: Any, root: int, comm: Any
) -> Arguments:
    return Part(sendbuf, sendcount, sendtype), Part(recvbuf, recvcount, recvtype), root


def _gatherv(
    sendbuf: int,
    sendcount: int,
    sendtype: Any,
    recvbuf: int,
    recvcounts: Any,
    displs: Any,
    recvtype: Any,
    root: int,
    comm: Any,
) -> Arguments:
    n = comm.remote_size if _at_root(comm, root) else 0
    receive = Spread(recvbuf, _ints(recvcounts, n), _ints(displs, n), recvtype)
    return Part(sendbuf, sendcount, sendtype), receive, root


def _scatterv(
    sendbuf: int,
    sendcounts: Any,
    displs: Any,
    sendtype: Any,
    recvbuf: int,
    recvcount: int,
    recvtype: Any,
    root: int,
    comm: Any,
) -> Arguments:
    n = comm.remote_size if _at_root(comm, root) else 0
    send = Spread(sendbuf, _ints(sendcounts, n), _ints(displs, n), sendtype)
    return send, Part(recvbuf, recvcount, recvtype), root


# How many processes one sends to and receives from, from the send buffer and the communicator.
Sizes = Callable[[int, Any], tuple[int, int]]


def _everyone(sendbuf: int, comm: Any) -> tuple[int, int]:
    """Return how many send counts and receive counts a call has. Data sent in place has no counts of its own."""
    return 0 if sendbuf == IN_PLACE else comm.remote_size, comm.remote_size


def _neighbours(sendbuf: int, comm: Any) -> tuple[int, int]:
    """Without a topology the plan complains."""
    if comm.topology is None:
        return 0, 0
    sources, destinations = comm.topology.neighbours(comm.rank)
    return len(destinations), len(sources)


def _allgatherv(sizes: Sizes) -> Describe:
    def describe(
        sendbuf: int,
        sendcount: int,
        sendtype: Any,
        recvbuf: int,
        recvcounts: Any,
        displs: Any,
        recvtype: Any,
        comm: Any,
    ) -> Arguments:
        _, n = sizes(sendbuf, comm)
        receive = Spread(recvbuf, _ints(recvcounts, n), _ints(displs, n), recvtype)
        return Part(sendbuf, sendcount, sendtype), receive

    return describe


def _alltoallv(sizes: Sizes) -> Describe:
    def describe(
        sendbuf: int,
        sendcounts: Any,
        sdispls: Any,
        sendtype: Any,
        recvbuf: int,
        recvcounts: Any,
        rdispls: Any,
        recvtype: Any,
        comm: Any,
    ) -> Arguments:
        m, n = sizes(sendbuf, comm)
        going = Spread(sendbuf, _ints(sendcounts, m), _ints(sdispls, m), sendtype)
        return going, Spread(recvbuf, _ints(recvcounts, n), _ints(rdispls, n), recvtype)

    return describe


def _alltoallw(sizes: Sizes) -> Describe:
    def describe(
        sendbuf: int,
        sendcounts: Any,
        sdispls: Any,
        sendtypes: Any,
        recvbuf: int,
        recvcounts: Any,
        rdispls: Any,
        recvtypes: Any,
        comm: Any,
    ) -> Arguments:
        m, n = sizes(sendbuf, comm)
        going = Mixed(sendbuf, _ints(sendcounts, m), _ints(sdispls, m), _types(sendtypes, m))
        return going, Mixed(recvbuf, _ints(recvcounts, n), _ints(rdispls, n), _types(recvtypes, n))

    return describe


def _reduce(sendbuf: int, recvbuf: int, count: int, datatype: Any, op: Any, root: int, comm: Any) -> Arguments:
    return sendbuf, recvbuf, count, datatype, op, root


def _allreduce(sendbuf: int, recvbuf: int, count: int, datatype: Any, op: Any, comm: Any) -> Arguments:
    return sendbuf, recvbuf, count, datatype, op


def _reduce_scatter(sendbuf: int, recvbuf: int, recvcounts: Any, datatype: Any, op: Any, comm: Any) -> Arguments:
    return sendbuf, recvbuf, _ints(recvcounts, comm.size), datatype, op


def _reduce_scatter_block(sendbuf: int, recvbuf: int, recvcount: int, datatype: Any, op: Any, comm: Any) -> Arguments:
    return sendbuf, recvbuf, recvcount, datatype, op


_family("barrier", plans.barrier, lambda comm: ())
_family("bcast", plans.bcast, lambda buffer, count, datatype, root, comm: (buffer, count, datatype, root))
_family("gather", plans.gather, _rooted)
_family("gatherv", plans.gatherv, _gatherv)
_family("scatter", plans.scatter, _rooted)
_family("scatterv", plans.scatterv, _scatterv)
_family("allgather", plans.allgather, _plain)
_family("allgatherv", plans.allgatherv, _allgatherv(_everyone))
_family("alltoall", plans.alltoall, _plain)
_family("alltoallv", plans.alltoallv, _alltoallv(_everyone))
_family("alltoallw", plans.alltoallw, _alltoallw(_everyone))
_family("reduce", plans.reduce, _reduce)
_family("allreduce", plans.allreduce, _allreduce)
_family("scan", plans.scan, _allreduce)
_family("exscan", plans.exscan, _allreduce)
_family("reduce_scatter", plans.reduce_scatter, _reduce_scatter)
_family("reduce_scatter_block", plans.reduce_scatter_block, _reduce_scatter_block)

_family("neighbor_allgather", plans.neighbor_allgather, _plain)
_family("neighbor_allgatherv", plans.neighbor_allgatherv, _allgatherv(_neighbours))
_family("neighbor_alltoall", plans.neighbor_alltoall, _plain)
_family("neighbor_alltoallv", plans.neighbor_alltoallv, _alltoallv(_neighbours))
_family("neighbor_alltoallw", plans.neighbor_alltoallw, _alltoallw(_neighbours))


# Reduction operations of the program, and reductions without communication.


class UserFunction:
    """The program's function at `address`."""

    def __init__(self, address: int, large: bool) -> None:
        self.address = address
        self._number = "long long" if large else "int"
        self._handle = handle_type()
        self._call = of_program(f"void (*)(intptr_t, intptr_t, {self._number} *, {self._handle} *)", address)

    def __call__(self, incoming: int, inout: int, count: int, datatype: Any) -> None:
        new, handle = abi.ffi.new, abi.types.handle_of(datatype)
        self._call(incoming, inout, new(f"{self._number} *", count), new(f"{self._handle} *", handle))


def of_cxx(call_function: int, address: int) -> Callable[[int, int, int, Any], None]:
    """The program's C++ function at `address`, which the C++ bindings' own function calls."""
    form = f"void (*)(intptr_t, intptr_t, int, {handle_type()}, intptr_t)"
    through = of_program(form, call_function)

    def call(incoming: int, inout: int, count: int, datatype: Any) -> None:
        through(incoming, inout, count, abi.types.handle_of(datatype), address)

    return call


@binding
def MPI_Op_create(user_fn: int, commute: int, large: bool) -> Op:
    return Op(UserFunction(user_fn, large), bool(commute))


@binding
def MPI_Op_free(op: Any) -> None:
    if abi.ops[op[0]].predefined:
        raise MpiError(ErrorClass.OP, f"MPI_Op_free: {abi.ops[op[0]].name} is predefined and cannot be freed")
    abi.ops.remove(op[0])
    op[0] = abi.ops.null


bind("MPI_Op_commutative", lambda op: op.commute, always=True)


@binding
def MPI_Reduce_local(inbuf: int, inoutbuf: int, count: int, datatype: Any, op: Op) -> None:
    reduce_local(inbuf, inoutbuf, count, datatype, op)
