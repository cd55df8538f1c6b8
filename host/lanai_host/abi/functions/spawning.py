"""Starting processes, and connecting to others by ports and names. What is started, and a port's name, mean something
at the root only, so they are read there."""

from collections.abc import Callable
from typing import Any

from ...mpi.errors import ErrorClass, MpiError
from ...mpi.intercomm import NotConnected
from ...mpi.spawning import Program
from ..binding import bind, binding
from ..context import abi
from ..tables import BadHandle, NullPointer


def _pointers(address: int) -> Any:
    """An array of pointers: C's strings, or arrays of them."""
    return abi.ffi.cast("char **", address)


def _strings(address: int) -> list[str]:
    """The strings before a null pointer; none at MPI_ARGV_NULL."""
    pointer = _pointers(address)
    found: list[str] = []
    while pointer and pointer[len(found)]:
        found.append(abi.text(pointer[len(found)]))
    return found


def _needed(call: str, name: str, pointer: Any) -> Any:
    if not pointer:
        raise MpiError(ErrorClass.ARG, f"{call}: {name} is a null pointer, and this process is the root")
    return pointer


def _spawn(command: Any, argv: int, maxprocs: int, info: int, root: int, comm: Any, array_of_errcodes: Any) -> Any:
    call = "MPI_Comm_spawn"

    def programs() -> list[Program]:
        name = abi.text(_needed(call, "command", command))
        return [Program(name, _strings(argv), maxprocs, abi.infos[info])]

    return _spawned(call, root, comm, programs, array_of_errcodes)


def _spawn_multiple(
    count: int,
    array_of_commands: int,
    array_of_argv: int,
    array_of_maxprocs: Any,
    array_of_info: Any,
    root: int,
    comm: Any,
    array_of_errcodes: Any,
) -> Any:
    call = "MPI_Comm_spawn_multiple"

    def programs() -> list[Program]:
        if count < 1:
            raise MpiError(ErrorClass.COUNT, f"{call}: count is {count}; it must be at least 1")
        commands = _pointers(_needed(call, "array_of_commands", array_of_commands))
        arguments = _pointers(array_of_argv)
        most = abi.ints(array_of_maxprocs, count, "array_of_maxprocs")
        infos = abi.ints(array_of_info, count, "array_of_info")
        return [
            Program(
                abi.text(_needed(call, f"array_of_commands[{index}]", commands[index])),
                _strings(abi.address(arguments[index])) if arguments else [],
                most[index],
                abi.infos[infos[index]],
            )
            for index in range(count)
        ]

    return _spawned(call, root, comm, programs, array_of_errcodes)


def _spawned(call: str, root: int, comm: Any, programs: Callable[[], list[Program]], errcodes: Any) -> Any:
    def checked() -> list[Program]:
        try:
            return programs()
        except (BadHandle, NullPointer) as wrong:  # an error of all, not of the root alone
            raise wrong.named(call) from None

    try:
        made, codes = abi.world.spawner.spawn(comm, call, root, checked)
    except NotConnected as failed:
        _put_codes(errcodes, failed.codes)
        raise
    _put_codes(errcodes, codes)
    return made


def _put_codes(errcodes: Any, codes: Any) -> None:
    """Write them unless the program gave MPI_ERRCODES_IGNORE."""
    if errcodes:
        abi.put_ints(errcodes, map(abi.code_out, codes))


bind("MPI_Comm_spawn", _spawn, raw="command argv maxprocs info")
bind(
    "MPI_Comm_spawn_multiple",
    _spawn_multiple,
    raw="count array_of_commands array_of_argv array_of_maxprocs array_of_info",
)


@binding
def MPI_Comm_get_parent(parent: Any) -> None:
    comm = abi.world.parent
    parent[0] = abi.comms.null if comm is None or comm.freed else abi.comms.handle_of(comm)


# Ports, names, and groups of processes that become connected

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
