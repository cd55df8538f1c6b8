"""Ports, names, and groups of processes that become connected."""

from typing import Any

from ...mpi.errors import ErrorClass, MpiError
from ..binding import bind
from ..context import abi

bind("MPI_Open_port", lambda info: abi.world.ports.open())
bind("MPI_Close_port", lambda port_name: abi.world.ports.close(port_name))


def _accept(comm: Any, port_name: Any, info: Any, root: int) -> Any:
    return abi.world.ports.accept(comm, _port("MPI_Comm_accept", comm, port_name, root), root)


def _connect(comm: Any, port_name: Any, info: Any, root: int) -> Any:
    return abi.world.ports.connect(comm, _port("MPI_Comm_connect", comm, port_name, root), root)


def _port(call: str, comm: Any, port_name: Any, root: int) -> str:
    """The port's name, which means something at the root only."""
    if comm.rank != root:
        return ""
    if not port_name:
        raise MpiError(ErrorClass.PORT, f"{call}: port_name is a null pointer, and this process is the root")
    return abi.text(port_name)


bind("MPI_Comm_accept", _accept, raw="port_name")
bind("MPI_Comm_connect", _connect, raw="port_name")
bind("MPI_Comm_join", lambda fd: abi.world.ports.join(abi.world.comm_self, fd))
bind("MPI_Publish_name", lambda service_name, info, port_name: abi.world.ports.publish(service_name, port_name))
bind("MPI_Unpublish_name", lambda service_name, info, port_name: abi.world.ports.unpublish(service_name, port_name))
bind("MPI_Lookup_name", lambda service_name, info: abi.world.ports.lookup(service_name))
