"""Files: the chapter on input and output."""

from collections.abc import Callable
from typing import Any

from ...mpi.attributes import Errhandler, Info
from ...mpi.datatypes import Datatype
from ...mpi.files import ACCESSES, Where, access, state
from ...mpi.files import state as opening
from ...mpi.files.representation import Conversion, Registered, registry
from ...mpi.group import Group
from .. import callbacks
from ..binding import bind, binding
from ..callbacks import of_program
from ..context import abi

_representations = registry()

# Opening and closing


@binding
def MPI_File_open(comm: Any, filename: str, amode: int, info: Info | None) -> Any:
    return opening.open_file_of(comm, filename, amode, info, abi.no_file.errhandler)


@binding
def MPI_File_close(fh: Any) -> None:
    opening.close(abi.files[fh[0]])
    abi.files.remove(fh[0])
    fh[0] = abi.files.null


bind("MPI_File_delete", lambda filename, info: opening.delete(abi.world.comm_self, filename, info))

# Inquiry and state

bind("MPI_File_get_size", state.get_size, "fh")
bind("MPI_File_set_size", state.set_size, "fh size")
bind("MPI_File_preallocate", state.preallocate, "fh size")
bind("MPI_File_sync", state.sync, "fh")
bind("MPI_File_get_group", lambda fh: Group(fh.comm.group.members, fh.comm.group.me))
bind("MPI_File_get_amode", lambda fh: int(fh.mode))
bind("MPI_File_get_info", lambda fh: fh.hints.info())
bind("MPI_File_set_info", state.set_info, "fh info")
bind("MPI_File_get_atomicity", lambda fh: fh.atomic)
bind("MPI_File_set_atomicity", lambda fh, flag: state.set_atomicity(fh, bool(flag)))
bind("MPI_File_get_byte_offset", state.get_byte_offset, "fh offset")
bind("MPI_File_get_type_extent", state.get_type_extent, "fh datatype")
bind("MPI_File_seek", state.seek, "fh offset whence")
bind("MPI_File_seek_shared", state.seek_shared, "fh offset whence")
bind("MPI_File_get_position", state.get_position, "fh")
bind("MPI_File_get_position_shared", state.get_position_shared, "fh")


@binding
def MPI_File_set_view(fh: Any, disp: int, etype: Datatype, filetype: Datatype, datarep: str, info: Info | None) -> None:
    state.set_view(fh, disp, etype, filetype, datarep, info, _representations)


@binding
def MPI_File_get_view(fh: Any) -> tuple[int, Datatype, Datatype, str]:
    view = fh.view
    return view.displacement, view.etype, view.filetype, view.representation.name


# Reading and writing

for _name, _access in ACCESSES.items():
    _where = " offset" if _access.where is Where.EXPLICIT else ""

    def _bound(carry_out: Callable[..., Any], one: Any = _access) -> Callable[..., Any]:
        def call(fh: Any, buf: int, count: int, datatype: Datatype, offset: int = 0) -> Any:
            return carry_out(one, fh, buf, count, datatype, offset)

        return call

    _inputs = f"fh buf count datatype{_where}"
    bind(f"MPI_File_{_name}", _bound(access.run), _inputs)
    if _access.where is not Where.SHARED or not _access.collective:  # ordered ones have no nonblocking form
        bind(f"MPI_File_i{_name}", _bound(access.start), _inputs)
    if _access.collective:
        bind(f"MPI_File_{_name}_begin", _bound(access.begin), _inputs)
        bind(f"MPI_File_{_name}_end", lambda fh, buf, one=_access: access.end(one, fh), "fh buf")

# Error handlers


@binding
def MPI_File_set_errhandler(file: Any, errhandler: Errhandler) -> None:
    file.errhandler = errhandler


bind("MPI_File_get_errhandler", lambda file: file.errhandler)
bind("MPI_File_create_errhandler", lambda file_errhandler_fn: callbacks.errhandler(file_errhandler_fn, abi.files))


@binding
def MPI_File_call_errhandler(fh: Any, errorcode: int) -> None:
    abi.world.report(callbacks.with_code(errorcode), fh)


# Data representations of the program's own


def _conversion(address: int, count_type: str, extra_state: int, what: str) -> Conversion | None:
    if address == abi.constants["MPI_CONVERSION_FN_NULL"]:
        return None
    handle = abi.flavor.handle("MPI_Datatype")
    function = of_program(f"int (*)(intptr_t, {handle}, {count_type}, intptr_t, long long, intptr_t)", address)

    def convert(memory: int, datatype: Datatype, count: int, file: int, position: int) -> None:
        callbacks.check(function(memory, abi.types.handle_of(datatype), count, file, position, extra_state), what)

    return convert


def _extent(address: int, extra_state: int) -> Callable[[Datatype], int]:
    handle = abi.flavor.handle("MPI_Datatype")
    function = of_program(f"int (*)({handle}, intptr_t *, intptr_t)", address)

    def extent(datatype: Datatype) -> int:
        found = abi.ffi.new("intptr_t *")
        callbacks.check(function(abi.types.handle_of(datatype), found, extra_state), "dtype_file_extent_fn")
        return int(found[0])

    return extent


@binding
def MPI_Register_datarep(
    datarep: str,
    read_conversion_fn: int,
    write_conversion_fn: int,
    dtype_file_extent_fn: int,
    extra_state: int,
    large: bool,
) -> None:
    count = "long long" if large else "int"
    read = _conversion(read_conversion_fn, count, extra_state, "read_conversion_fn")
    write = _conversion(write_conversion_fn, count, extra_state, "write_conversion_fn")
    made = Registered(datarep, read, write, _extent(dtype_file_extent_fn, extra_state))
    _representations.add(made, abi.constants["MPI_MAX_DATAREP_STRING"])
