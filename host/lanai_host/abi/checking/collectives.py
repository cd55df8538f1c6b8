"""Records of collective calls: what all ranks must agree on, and the buffers."""

from typing import Any

from ...mpi.communicator import Communicator
from ...mpi.constants import ROOT
from ...mpi.op import Op
from ..context import abi
from .call import Call
from .flight import Buffer
from .recorder import After, Handler, Recorder
from .signatures import runs_of

HANDLERS: dict[str, Handler] = {}
MOST_RANKS = 64  # whose counts a record tells one by one
Shape = tuple[list[Buffer], dict[str, Any]]
_SENT = ("sendbuf", "sendcount", "sendtype")
_RECEIVED = ("recvbuf", "recvcount", "recvtype")


def _signature(call: Call, count: str, datatype: str) -> list[list[object]]:
    return runs_of(call.datatype(datatype), call.raw(count))


def _broadcast(call: Call, comm: Communicator) -> Shape:
    names = ("buffer", "count", "datatype")
    root = call.number_of("root")
    buffer = Buffer(call.regions(*names), comm.rank != root, "buffer")
    return [buffer], {"root": root, "same": _signature(call, "count", "datatype")}


def _sent(call: Call) -> Buffer:
    return Buffer(() if call.in_place("sendbuf") else call.regions(*_SENT), False, "sendbuf")


def _received(call: Call) -> Buffer:
    return Buffer(() if call.in_place("recvbuf") else call.regions(*_RECEIVED), True, "recvbuf")


def _whole(call: Call, comm: Communicator) -> Buffer:
    """Return the receive buffer that has a block for each rank."""
    if call.in_place("recvbuf"):
        return Buffer((), True)
    return _scaled(call, *_RECEIVED, True, comm)


def _scaled(call: Call, address: str, count: str, datatype: str, writes: bool, comm: Communicator) -> Buffer:
    kind, each = call.datatype(datatype), call.raw(count)
    at = call.number_of(address)
    size = comm.remote_size
    steps = [rank * each * kind.extent for rank in range(size)]
    return (
        Buffer(call.blocks(address, [each] * size, steps, [kind] * size), writes, address) if at else Buffer((), writes)
    )


def _gather(call: Call, comm: Communicator) -> Shape:
    root = call.number_of("root")
    fields: dict[str, Any] = {"root": root}
    buffers = []
    if not call.in_place("sendbuf"):
        buffers.append(_sent(call))
        fields["send"] = _signature(call, "sendcount", "sendtype")
    if comm.rank == root:
        buffers.append(_whole(call, comm))
        fields["recv"] = _signature(call, "recvcount", "recvtype")
    return buffers, fields


def _scatter(call: Call, comm: Communicator) -> Shape:
    root = call.number_of("root")
    fields: dict[str, Any] = {"root": root}
    buffers = []
    if not call.in_place("recvbuf"):
        buffers.append(_received(call))
        fields["recv"] = _signature(call, "recvcount", "recvtype")
    if comm.rank == root:
        buffers.append(_scaled(call, *_SENT, False, comm))
        fields["send"] = _signature(call, "sendcount", "sendtype")
    return buffers, fields


def _vector(call: Call, which: str, comm: Communicator) -> tuple[Buffer, list[Any] | None]:
    """Return the buffer of "send" or "recv" with a count for each rank, and the signatures."""
    size = comm.remote_size
    kind = call.datatype(f"{which}type")
    counts, places = call.ints(f"{which}counts", size), call.ints(_displacements(call, which), size)
    regions = call.blocks(f"{which}buf", counts, [place * kind.extent for place in places], [kind] * size)
    signatures = [runs_of(kind, count) for count in counts] if size <= MOST_RANKS else None
    return Buffer(regions, which == "recv", f"{which}buf"), signatures


def _displacements(call: Call, which: str) -> str:
    return (
        "rdispls"
        if which == "recv" and call.has("rdispls")
        else "sdispls"
        if which == "send" and call.has("sdispls")
        else "displs"
    )


def _gatherv(call: Call, comm: Communicator) -> Shape:
    root = call.number_of("root")
    fields: dict[str, Any] = {"root": root}
    buffers = []
    if not call.in_place("sendbuf"):
        buffers.append(_sent(call))
        fields["send"] = _signature(call, "sendcount", "sendtype")
    if comm.rank == root:
        buffer, fields["recvs"] = _vector(call, "recv", comm)
        buffers.append(buffer)
    return buffers, fields


def _scatterv(call: Call, comm: Communicator) -> Shape:
    root = call.number_of("root")
    fields: dict[str, Any] = {"root": root}
    buffers = []
    if not call.in_place("recvbuf"):
        buffers.append(_received(call))
        fields["recv"] = _signature(call, "recvcount", "recvtype")
    if comm.rank == root:
        buffer, fields["sends"] = _vector(call, "send", comm)
        buffers.append(buffer)
    return buffers, fields


def _allgather(call: Call, comm: Communicator) -> Shape:
    buffers, fields = [_whole(call, comm)], {"recv": _signature(call, "recvcount", "recvtype")}
    if not call.in_place("sendbuf"):
        buffers.append(_sent(call))
        fields["send"] = _signature(call, "sendcount", "sendtype")
    return buffers, fields


def _allgatherv(call: Call, comm: Communicator) -> Shape:
    buffer, signatures = _vector(call, "recv", comm)
    buffers, fields = [buffer], {"recvs": signatures}
    if not call.in_place("sendbuf"):
        buffers.append(_sent(call))
        fields["send"] = _signature(call, "sendcount", "sendtype")
    return buffers, fields


def _alltoall(call: Call, comm: Communicator) -> Shape:
    buffers, fields = [_whole(call, comm)], {"recv": _signature(call, "recvcount", "recvtype")}
    if not call.in_place("sendbuf"):
        buffers.append(_scaled(call, *_SENT, False, comm))
        fields["send"] = _signature(call, "sendcount", "sendtype")
    return buffers, fields


def _alltoallv(call: Call, comm: Communicator) -> Shape:
    buffer, signatures = _vector(call, "recv", comm)
    buffers, fields = [buffer], {"recvs": signatures}
    if not call.in_place("sendbuf"):
        buffer, fields["sends"] = _vector(call, "send", comm)
        buffers.append(buffer)
    return buffers, fields


def _alltoallw(call: Call, comm: Communicator) -> Shape:
    buffers, fields = [], {}
    size = comm.remote_size
    for which in ("send", "recv"):
        if which == "send" and call.in_place("sendbuf"):
            continue
        types = [abi.types[handle] for handle in call.ints(f"{which}types", size)]
        counts, places = call.ints(f"{which}counts", size), call.ints(_displacements(call, which), size)
        buffers.append(Buffer(call.blocks(f"{which}buf", counts, places, types), which == "recv", f"{which}buf"))
        if size <= MOST_RANKS:
            fields[f"{which}s"] = [runs_of(kind, count) for kind, count in zip(types, counts, strict=True)]
    return buffers, fields


def _reduction(call: Call, comm: Communicator) -> Shape:
    """All that reduce `count` elements with an operation."""
    count = "count" if call.has("count") else "recvcount"
    each = comm.size if count == "recvcount" else 1
    kind, total = call.datatype("datatype"), call.raw(count)
    fields: dict[str, Any] = {"op": _op(call), "same": runs_of(kind, total)}
    buffers = []
    if not call.in_place("sendbuf"):
        at = call.number_of("sendbuf")
        buffers.append(Buffer(call.blocks("sendbuf", [total * each], [0], [kind]) if at else (), False, "sendbuf"))
    root = call.number_of("root") if call.has("root") else None
    if root is not None:
        fields["root"] = root
    if (root is None or root == comm.rank) and not call.in_place("recvbuf"):
        buffers.append(Buffer(call.regions("recvbuf", count, "datatype"), True, "recvbuf"))
    return buffers, fields


def _reduce_scatter(call: Call, comm: Communicator) -> Shape:
    counts = call.ints("recvcounts", comm.size)
    kind = call.datatype("datatype")
    fields: dict[str, Any] = {"op": _op(call), "same": runs_of(kind, sum(counts)), "counts": counts}
    buffers = []
    if not call.in_place("sendbuf"):
        buffers.append(Buffer(call.blocks("sendbuf", [sum(counts)], [0], [kind]), False, "sendbuf"))
    if not call.in_place("recvbuf"):
        buffers.append(Buffer(call.blocks("recvbuf", [counts[comm.rank]], [0], [kind]), True, "recvbuf"))
    return buffers, fields


def _op(call: Call) -> str:
    op = abi.ops.get(call.raw("op"))
    return op.name if isinstance(op, Op) and abi.ops.is_predefined(op) else "of MPI_Op_create"


def _nothing(call: Call, comm: Communicator) -> Shape:
    return [], {}


_SHAPES = {
    "Barrier": _nothing, "Bcast": _broadcast, "Gather": _gather, "Gatherv": _gatherv, "Scatter": _scatter,
    "Scatterv": _scatterv, "Allgather": _allgather, "Allgatherv": _allgatherv, "Alltoall": _alltoall,
    "Alltoallv": _alltoallv, "Alltoallw": _alltoallw, "Reduce": _reduction, "Allreduce": _reduction,
    "Scan": _reduction, "Exscan": _reduction, "Reduce_scatter_block": _reduction, "Reduce_scatter": _reduce_scatter,
    "Neighbor_allgather": _nothing, "Neighbor_allgatherv": _nothing, "Neighbor_alltoall": _nothing,
    "Neighbor_alltoallv": _nothing, "Neighbor_alltoallw": _nothing,
}  # fmt: skip
_OF_COMMUNICATORS = (
    "Comm_dup", "Comm_dup_with_info", "Comm_create", "Comm_split", "Comm_split_type", "Cart_create",
    "Graph_create", "Dist_graph_create", "Dist_graph_create_adjacent", "Cart_sub", "Win_create", "Win_allocate",
    "Win_allocate_shared", "Win_create_dynamic", "File_open",
)  # fmt: skip
_OLD = {
    "Cart_create": "comm_old", "Graph_create": "comm_old", "Dist_graph_create": "comm_old",
    "Dist_graph_create_adjacent": "comm_old", "Comm_free": "comm", "Comm_disconnect": "comm",
}  # fmt: skip


def _collective(shape: Any, how: str) -> Handler:
    """`how`: "", "i" or "init"."""

    def handle(rec: Recorder, call: Call) -> After | None:
        comm = call.comm()
        buffers, fields = shape(call, comm) if not comm.is_inter else ([], {})
        note(rec, call, comm, fields)
        if how == "init":
            return rec.made(call, [], buffers, started=False)
        rec.use(call, buffers, pending=bool(how))
        if how:
            return rec.made(call, [], buffers)
        return None

    return handle


def note(rec: Recorder, call: Call, comm: Communicator, fields: dict[str, Any]) -> None:
    """Record a collective call on a communicator."""
    members = None if comm.is_inter else list(comm.group.members)
    rec.note("coll", call, c=call.name, on=rec.names.of(comm), label=comm.label, of=members, **fields)


def _of_communicator(argument: str) -> Handler:
    def handle(rec: Recorder, call: Call) -> After | None:
        value = call.raw(argument)
        comm = abi.comms[value if isinstance(value, int) else value[0]]
        note(rec, call, comm, {})
        return None

    return handle


for _name, _shape in _SHAPES.items():
    HANDLERS[f"MPI_{_name}"] = _collective(_shape, "")
    HANDLERS[f"MPI_I{_name.lower()}"] = _collective(_shape, "i")
    HANDLERS[f"MPI_{_name}_init"] = _collective(_shape, "init")
for _name in (*_OF_COMMUNICATORS, "Comm_free", "Comm_disconnect"):
    HANDLERS[f"MPI_{_name}"] = _of_communicator(_OLD.get(_name, "comm"))
HANDLERS["MPI_Intercomm_merge"] = _of_communicator("intercomm")
assert ROOT < 0
