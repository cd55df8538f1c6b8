"""Records of collective calls: what all ranks must agree on, and the buffers."""

from collections.abc import Callable, Sequence
from typing import Any

from ...mpi.communicator import Communicator
from ...mpi.constants import ROOT
from ...mpi.datatypes import Datatype
from ...mpi.op import Op
from ..context import abi
from .call import Buffer, Call, runs_of
from .recorder import After, Handler, Recorder

HANDLERS: dict[str, Handler] = {}
MOST_RANKS = 64  # whose counts a record tells one by one
Shape = tuple[list[Buffer], dict[str, Any]]
Describe = Callable[[Call, Communicator], Shape]
# A buffer, the record's field for what passes there, and that: from a call, a communicator and "send" or "recv".
Part = tuple[Buffer, str, Any]
Side = Callable[[Call, Communicator, str], Part]


def _block(call: Call, comm: Communicator, which: str) -> Part:
    """One block, this rank's own."""
    address, count, datatype = f"{which}buf", f"{which}count", f"{which}type"
    regions = () if call.in_place(address) else call.regions(address, count, datatype)
    return Buffer(regions, which == "recv", address), which, runs_of(call.datatype(datatype), call.raw(count))


def _blocks(call: Call, comm: Communicator, which: str) -> Part:
    """A block for each rank, all of one size."""
    kind, each = call.datatype(f"{which}type"), call.raw(f"{which}count")
    size = comm.remote_size if call.number_of(f"{which}buf") else 0
    steps = [rank * each * kind.extent for rank in range(size)]
    return _buffer(call, which, [each] * size, steps, [kind] * size), which, runs_of(kind, each)


def _vector(call: Call, comm: Communicator, which: str) -> Part:
    """A block for each rank, each with its own count."""
    kind, size = call.datatype(f"{which}type"), comm.remote_size
    counts, places = call.ints(f"{which}counts", size), _displacements(call, which, size)
    buffer = _buffer(call, which, counts, [place * kind.extent for place in places], [kind] * size)
    return buffer, f"{which}s", [runs_of(kind, count) for count in counts] if size <= MOST_RANKS else None


def _mixed(call: Call, comm: Communicator, which: str) -> Part:
    """A block for each rank, each with its own count and datatype."""
    size = comm.remote_size
    kinds = [abi.types[handle] for handle in call.ints(f"{which}types", size)]
    counts = call.ints(f"{which}counts", size)
    buffer = _buffer(call, which, counts, _displacements(call, which, size), kinds)
    signatures = [runs_of(kind, count) for kind, count in zip(kinds, counts, strict=True)]
    return buffer, f"{which}s", signatures if size <= MOST_RANKS else None


def _buffer(call: Call, which: str, counts: list[int], places: list[int], kinds: list[Datatype]) -> Buffer:
    address = f"{which}buf"
    regions = () if call.in_place(address) else call.blocks(address, counts, places, kinds)
    return Buffer(regions, which == "recv", address)


def _displacements(call: Call, which: str, size: int) -> list[int]:
    own = f"{which[0]}displs"
    return call.ints(own if call.has(own) else "displs", size)


def _shape(parts: Sequence[Part], **fields: Any) -> Shape:
    return [buffer for buffer, _, _ in parts], fields | {name: value for _, name, value in parts}


def _rooted(own: str, far: Side) -> Describe:
    """Return the description of a call in which each rank has an own block, and the root one for each rank."""

    def describe(call: Call, comm: Communicator) -> Shape:
        root = call.number_of("root")
        parts = [] if call.in_place(f"{own}buf") else [_block(call, comm, own)]
        if comm.rank == root:
            parts.append(far(call, comm, "recv" if own == "send" else "send"))
        return _shape(parts, root=root)

    return describe


def _to_all(send: Side, receive: Side) -> Describe:
    """Return the description of a call in which each rank receives a block of each."""

    def describe(call: Call, comm: Communicator) -> Shape:
        parts = [receive(call, comm, "recv")]
        if not call.in_place("sendbuf"):
            parts.append(send(call, comm, "send"))
        return _shape(parts)

    return describe


def _broadcast(call: Call, comm: Communicator) -> Shape:
    names = ("buffer", "count", "datatype")
    root = call.number_of("root")
    buffer = Buffer(call.regions(*names), comm.rank != root, "buffer")
    return [buffer], {"root": root, "same": runs_of(call.datatype("datatype"), call.raw("count"))}


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


_SHAPES: dict[str, Describe] = {
    "Barrier": _nothing, "Bcast": _broadcast, "Reduce": _reduction, "Allreduce": _reduction,
    "Gather": _rooted("send", _blocks), "Gatherv": _rooted("send", _vector),
    "Scatter": _rooted("recv", _blocks), "Scatterv": _rooted("recv", _vector),
    "Allgather": _to_all(_block, _blocks), "Allgatherv": _to_all(_block, _vector),
    "Alltoall": _to_all(_blocks, _blocks), "Alltoallv": _to_all(_vector, _vector),
    "Alltoallw": _to_all(_mixed, _mixed),
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


def _collective(describe: Describe, how: str) -> Handler:
    """`how`: "", "i" or "init"."""

    def handle(rec: Recorder, call: Call) -> After | None:
        comm = call.comm()
        buffers, fields = describe(call, comm) if not comm.is_inter else ([], {})
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


for _name, _describe in _SHAPES.items():
    HANDLERS[f"MPI_{_name}"] = _collective(_describe, "")
    HANDLERS[f"MPI_I{_name.lower()}"] = _collective(_describe, "i")
    HANDLERS[f"MPI_{_name}_init"] = _collective(_describe, "init")
for _name in (*_OF_COMMUNICATORS, "Comm_free", "Comm_disconnect"):
    HANDLERS[f"MPI_{_name}"] = _of_communicator(_OLD.get(_name, "comm"))
HANDLERS["MPI_Intercomm_merge"] = _of_communicator("intercomm")
assert ROOT < 0
