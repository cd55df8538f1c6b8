"""Size, view, pointers and modes of an open file: what is asked and set beside its data."""

from ..collectives.calls import launch
from ..collectives.link import Link
from ..collectives.schedule import Steps
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..info import Info
from .file import File
from .members import hear, same_everywhere, together
from .modes import DISPLACEMENT_CURRENT, Mode, Whence
from .representation import Registry
from .view import View, check_types

# Size


def get_size(file: File) -> int:
    """MPI_File_get_size."""
    return file.disk.size("MPI_File_get_size")


def set_size(file: File, size: int) -> None:
    """MPI_File_set_size."""
    call = "MPI_File_set_size"
    _check_size(file, call, size)
    together(file.comm, call, file.name, (lambda: file.disk.truncate(call, size)) if file.comm.rank == 0 else None)


def preallocate(file: File, size: int) -> None:
    """MPI_File_preallocate."""
    call = "MPI_File_preallocate"
    _check_size(file, call, size)
    together(file.comm, call, file.name, (lambda: file.disk.allocate(call, size)) if file.comm.rank == 0 else None)


def _check_size(file: File, call: str, size: int) -> None:
    file.check_random(call)
    file.check_writable(call)
    file.check_no_split(call)
    if size < 0:
        raise MpiError(ErrorClass.ARG, f"{call}: size is {size}; it must not be negative")
    same_everywhere(file.comm, call, {"size": size})


def sync(file: File) -> None:
    """MPI_File_sync."""
    call = "MPI_File_sync"
    file.check_writable(call)
    together(file.comm, call, file.name, lambda: file.disk.synchronize(call))


# View


def set_view(
    file: File, disp: int, etype: Datatype, filetype: Datatype, datarep: str, info: Info | None, registry: Registry
) -> None:
    """MPI_File_set_view."""
    call = "MPI_File_set_view"
    file.check_no_split(call)
    representation = registry.find(call, datarep)
    check_types(call, etype, filetype, Mode.RDONLY not in file.mode)
    if disp != DISPLACEMENT_CURRENT and Mode.SEQUENTIAL in file.mode:
        raise MpiError(
            ErrorClass.ARG, f"{call}: disp is {disp}; with MPI_MODE_SEQUENTIAL it must be MPI_DISPLACEMENT_CURRENT"
        )
    if disp == DISPLACEMENT_CURRENT:
        disp = _current(file, call)
    elif disp < 0:
        raise MpiError(ErrorClass.ARG, f"{call}: disp is {disp}; it must not be negative")
    hints = file.hints.updated(info, file.comm.size)
    same_everywhere(file.comm, call, {"the size of etype": etype.size, **hints.numbers()})
    file.hints = hints
    file.view = View(disp, etype, filetype, representation)
    file.position = 0
    file.shared.position = 0
    hear(file.comm, call, [0])  # no rank uses the shared pointer before it is 0


def _current(file: File, call: str) -> int:
    """The byte at the shared pointer."""
    if Mode.SEQUENTIAL not in file.mode:
        raise MpiError(ErrorClass.ARG, f"{call}: disp is MPI_DISPLACEMENT_CURRENT, which needs MPI_MODE_SEQUENTIAL")
    position = hear(file.comm, call, [file.shared.position])[0][0]
    return file.view.byte_of(position * file.view.unit.size)


def get_byte_offset(file: File, offset: int) -> int:
    """MPI_File_get_byte_offset."""
    call = "MPI_File_get_byte_offset"
    file.check_random(call)
    if offset < 0:
        raise MpiError(ErrorClass.ARG, f"{call}: offset is {offset}; it must not be negative")
    return file.view.byte_of(offset * file.view.unit.size)


def get_type_extent(file: File, datatype: Datatype) -> int:
    """MPI_File_get_type_extent."""
    return file.view.representation.in_file(datatype).extent


# Pointers


def seek(file: File, offset: int, whence: int) -> None:
    """MPI_File_seek."""
    call = "MPI_File_seek"
    file.check_random(call)
    file.position = _target(file, call, offset, whence, file.position)


def get_position(file: File) -> int:
    """MPI_File_get_position."""
    file.check_random("MPI_File_get_position")
    return file.position


def seek_shared(file: File, offset: int, whence: int) -> None:
    """MPI_File_seek_shared."""
    call = "MPI_File_seek_shared"
    file.check_random(call)
    file.check_no_split(call)
    same_everywhere(file.comm, call, {"offset": offset, "whence": whence})
    base = hear(file.comm, call, [file.shared.position])[0][0]
    target = _target(file, call, offset, whence, base)
    file.shared.position = target
    hear(file.comm, call, [0])


def get_position_shared(file: File) -> int:
    """MPI_File_get_position_shared."""
    call = "MPI_File_get_position_shared"
    file.check_random(call)
    link = Link(file.comm, call, 0)
    found: list[int] = []

    def steps() -> Steps:
        found.append((yield from file.shared.add(link, 0)))

    launch(link, steps()).wait()
    return found[0]


def _target(file: File, call: str, offset: int, whence: int, current: int) -> int:
    """Return the place to which a pointer goes."""
    if whence not in list(Whence):
        raise MpiError(
            ErrorClass.ARG, f"{call}: whence is {whence}; it must be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END"
        )
    base = {Whence.SET: 0, Whence.CUR: current}.get(Whence(whence))
    target = offset + (_end_of(file, call) if base is None else base)
    if target < 0:
        raise MpiError(ErrorClass.ARG, f"{call}: offset is {offset}, which leads to {target}, before the view begins")
    return target


def _end_of(file: File, call: str) -> int:
    """The etypes of the view before the end of the file, also one that is cut there."""
    return -(-file.view.position_of(file.disk.size(call)) // file.view.unit.size)


# Modes


def set_atomicity(file: File, flag: bool) -> None:
    """MPI_File_set_atomicity."""
    call = "MPI_File_set_atomicity"
    file.check_no_split(call)
    same_everywhere(file.comm, call, {"flag": int(flag)})
    file.atomic = flag


def set_info(file: File, info: Info | None) -> None:
    """MPI_File_set_info."""
    call = "MPI_File_set_info"
    hints = file.hints.updated(info, file.comm.size)
    same_everywhere(file.comm, call, hints.numbers())
    file.hints = hints
