"""The MPI library in Python. It knows hardware only through a `Device`.

How a binding uses it
---------------------
Buffers are passed as `address, count, datatype`; addresses are ints, `IN_PLACE` and `BOTTOM` from `constants`; a
`Datatype` comes from `mpi.datatypes`. Null handles are None (a null request in a list, a null communicator as result).
Every method raises `MpiError`; `World.report(error, communicator)` then calls the error handler and returns the code.

`World(device, config)`: `init(level)`, `finalize()`, `abort(code)`, `wtime()`, `wtick()`, `initialized`, `finalized`,
`thread_level`, `is_main_thread()`, `comm_world`, `comm_self`, `errors` (ErrorTable), `info_env`, `processor_name()`,
`attach_buffer(address, size)`, `detach_buffer() -> (address, size)`, `flush_buffer()`, `iflush_buffer() -> Request`, `start_generalized(query, free,
cancel)`, `tag_ub`, `report(error, object)`, `leaks()`.

`Communicator`: fields `rank size remote_size group remote_group is_inter name errhandler info attributes topology`
(`attributes` is an `Attributes`; all of them plain fields, so that local calls are one lookup). Methods by chapter:

- point to point: `send bsend ssend rsend (address, count, datatype, dest, tag)`, `recv(address, count, datatype, source,
  tag) -> Status`, `isend ibsend issend irsend irecv -> Request`, `send_init bsend_init ssend_init rsend_init recv_init ->
  PersistentRequest`, `psend_init precv_init(address, partitions, count, datatype, peer, tag) -> PartitionedRequest`,
  `sendrecv(saddress, scount, stype, dest, stag, raddress, rcount, rtype, source, rtag) -> Status`,
  `sendrecv_replace(address, count, datatype, dest, stag, source, rtag) -> Status`, `isendrecv`, `isendrecv_replace`,
  `probe(source, tag) -> Status`, `iprobe -> Status | None`, `mprobe -> (Message, Status)`, `improbe -> the same | None`;
  `Message.recv(address, count, datatype) -> Status`, `Message.irecv -> Request` (`message.MESSAGE_NO_PROC`).
- requests: `Request.wait() -> Status`, `test() -> Status | None`, `get_status() -> Status | None`, `cancel()`, `free()`,
  `persistent`, `start()`; `completion.wait_all wait_any wait_some test_all test_any test_some start_all`. A request that
  is not persistent is dead after a completion call returned its status.
- collectives: `comm.run(plan, *arguments)` blocks, `comm.start(plan, *arguments) -> Request`, `comm.prepare(plan,
  *arguments) -> PersistentRequest`, where plan is a function of `mpi.collectives`: `barrier bcast gather gatherv scatter
  scatterv allgather allgatherv alltoall alltoallv alltoallw reduce allreduce reduce_scatter reduce_scatter_block scan
  exscan neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw`, with the
  arguments of the C calls in their order, without the communicator (counts, displacements, types as sequences).
  `op.reduce_local(inbuf, inoutbuf, count, datatype, op)`.
- creation: `duplicate() duplicate_with_info(info) iduplicate() -> (comm, Request) iduplicate_with_info split(color, key)
  split_type(type, key, info) create(group) create_group(group, tag) create_intercomm(local_leader, peer_comm, remote_leader,
  tag) merge(high) compare(other) free() disconnect() set_name(name)`; `creation.create_from_group(world, group,
  stringtag, info, errhandler)`, `creation.create_intercomm_from_groups`, `session.Session(world, info, errhandler)`.
- topologies: `cart_create(dims, periods, reorder) cart_sub(remain) cart_get() -> (dims, periods, coords) cart_rank(coords)
  cart_coords(rank) cart_shift(direction, displacement) -> (source, dest) cart_map(dims, periods) cartdim_get()
  graph_create(index, edges, reorder) graphdims_get() -> (nodes, edges) graph_get() -> (index, edges)
  graph_neighbors(rank) graph_map(index, edges) dist_graph_create(sources, degrees, destinations, weights | None, info,
  reorder) dist_graph_create_adjacent(sources, source_weights | None, destinations, destination_weights | None, info,
  reorder) dist_graph_neighbors_count() -> (in, out, weighted) dist_graph_neighbors() -> (sources, weights, destinations,
  weights) topology_test()`; `dims.dims_create(nodes, dims) -> list`.
- operations: `Op(function, commute, name)`, predefined ones in `op.PREDEFINED["MPI_SUM"]` ...; a user function gets
  (invec address, inoutvec address, count, datatype).
- `Keyval(kind, copy, delete)`, `Errhandler(name, function)`, `Info()`.
"""

from .attributes import Attributes, Keyval
from .errhandler import ERRORS_ABORT, ERRORS_ARE_FATAL, ERRORS_RETURN, Errhandler
from .errors import ErrorClass, ErrorTable, MpiError, unsupported
from .group import Group
from .info import Info
from .status import Status

__all__ = [
    "ERRORS_ABORT",
    "ERRORS_ARE_FATAL",
    "ERRORS_RETURN",
    "Attributes",
    "Errhandler",
    "ErrorClass",
    "ErrorTable",
    "Group",
    "Info",
    "Keyval",
    "MpiError",
    "Status",
    "unsupported",
]
