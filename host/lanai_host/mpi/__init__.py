"""The MPI library in Python. It knows hardware only through a `Device`.

How a binding uses it
---------------------
A `Communicator` is plain state; each chapter of MPI is a module of functions that take it first.
Buffers are passed as `address, count, datatype`; addresses are ints, `IN_PLACE` and `BOTTOM` from
`constants`; a `Datatype` comes from `mpi.datatypes`. Null handles are None (a null request in a
list, a null communicator as result). Every function raises `MpiError`; `World.report(error,
communicator)` then calls the error handler and returns the code.

`world.World(device, config)`: `init(level)`, `finalize()`, `abort(code)`, `wtime()`, `wtick()`,
`initialized`, `finalized`, `thread_level`, `is_main_thread()`, `comm_world`, `comm_self`, `errors`
(ErrorTable), `info_env`, `processor_name()`, `start_generalized(query, free, cancel)`,
`report(error, object)`, `leaks()`, `process` (what all communicators share).

`communicator.Communicator`: fields `rank size remote_size group remote_group is_inter name
errhandler info attributes topology`. `set_name(comm, name)`, `compare(comm, other)`. The functions
by module:

- `point_to_point`: `send ssend rsend (comm, address, count, datatype, dest, tag)`, `recv(comm,
  address, count, datatype, source, tag) -> Status`, `isend issend irsend irecv -> Request`.
- `exchange`: `sendrecv(comm, saddress, scount, stype, dest, stag, raddress, rcount, rtype, source,
  rtag) -> Status`, `sendrecv_replace(comm, address, count, datatype, dest, stag, source, rtag) -> Status`,
  `isendrecv`, `isendrecv_replace`.
- `buffered`: `bsend`, `ibsend`, `bsend_init`; `attach(owner, address, size)`, `detach(owner) ->
  (address, size)`, `flush(owner)`, `iflush(owner) -> Request`, where the owner is a communicator or
  `World.process`.
- `persistent`: `send_init ssend_init rsend_init recv_init -> PersistentRequest`.
- `partitioned`: `psend_init precv_init(comm, address, partitions, count, datatype, peer, tag) ->
  PartitionedRequest`.
- `probing`: `probe(comm, source, tag) -> Status`, `iprobe -> Status | None`, `mprobe -> (Message,
  Status)`, `improbe -> the same | None`; `Message.recv(address, count, datatype) -> Status`,
  `Message.irecv -> Request`.
- `request`, `completion`: `Request.wait() -> Status`, `test() -> Status | None`, `get_status() ->
  Status | None`, `cancel()`, `free()`, `persistent`, `start()`; `wait_all wait_any wait_some
  test_all test_any test_some start_all`. A request that is not persistent is dead after a
  completion call returned its status.
- `collectives`: `run(comm, plan, *arguments)` blocks, `start(comm, plan, *arguments) -> Request`,
  `prepare(comm, plan, *arguments) -> PersistentRequest`, where plan is one of `barrier bcast gather
  gatherv scatter scatterv allgather allgatherv alltoall alltoallv alltoallw reduce allreduce
  reduce_scatter reduce_scatter_block scan exscan neighbor_allgather neighbor_allgatherv
  neighbor_alltoall neighbor_alltoallv neighbor_alltoallw`, with the arguments of the C calls in
  their order, without the communicator (counts, displacements, types as sequences). In `op`:
  `reduce_local(inbuf, inoutbuf, count, datatype, op)`.
- `creation`: `duplicate(comm)`, `duplicate_with_info(comm, info)`, `iduplicate -> (comm, Request)`,
  `iduplicate_with_info`, `split(comm, color, key)`, `split_type(comm, type, key, info)`,
  `create(comm, group)`, `create_group(comm, group, tag)`, `create_from_group(everybody, group,
  stringtag, info, errhandler)`, `free(comm)`,
  `disconnect(comm)`. `intercomm`: `create_intercomm(comm, local_leader, peer_comm, remote_leader,
      tag)`, `merge(comm,
  high)`, `create_intercomm_from_groups`. `session.Session(world, info, errhandler)`.
- `grids`: `cart_create(comm, dims, periods, reorder)`, `cart_sub(comm, remain)`, `cart_get(comm) ->
  (dims, periods, coords)`, `cart_rank(comm, coords)`, `cart_coords(comm, rank)`, `cart_shift(comm,
  direction, displacement) -> (source, dest)`, `cart_map(comm, dims, periods)`, `cartdim_get(comm)`.
  `dims.dims_create(nodes, dims) -> list`.
- `graphs`: `graph_create(comm, index, edges, reorder)`, `graphdims_get(comm) -> (nodes, edges)`,
  `graph_get(comm) -> (index, edges)`, `graph_neighbors(comm, rank)`, `graph_map(comm, index,
  edges)`, `dist_graph_create(comm, sources, degrees, destinations, weights | None, info, reorder)`,
  `dist_graph_create_adjacent(comm, sources, source_weights | None, destinations,
  destination_weights | None, info, reorder)`, `dist_graph_neighbors_count(comm) -> (in, out,
  weighted)`, `dist_graph_neighbors(comm) -> (sources, weights, destinations, weights)`.
  `topology.topology_test(comm.topology)`.
- `op`: `Op(function, commute, name)`, predefined ones in `op.PREDEFINED["MPI_SUM"]` ...; a user
  function gets (invec address, inoutvec address, count, datatype).
- `Keyval(kind, copy, delete)`, `Errhandler(name, function)`, `Info()`.

Layers, which import-linter holds (pyproject.toml): values and errors, progress, the state of
communicators, requests, point to point, collectives, making communicators, the world.
"""

from .attributes import ERRORS_ABORT, ERRORS_ARE_FATAL, ERRORS_RETURN, Attributes, Errhandler, Info, Keyval
from .constants import Status
from .errors import ErrorClass, ErrorTable, MpiError, unsupported
from .group import Group

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
