"""Size, view, pointers and modes of an open file: what is asked and set beside its data."""

from ..arguments import check_intra
from ..attributes import Errhandler, Info
from ..collectives.link import Link
from ..collectives.schedule import Steps, launch
from ..communicator import Communicator
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..making import agree, creation_link, make
from .disk import (
    DISPLACEMENT_CURRENT,
    Disk,
    Mode,
    Whence,
    check_mode,
    delete_file,
    hear,
    open_file,
    same_everywhere,
    together,
)
from .file import File
from .representation import Registry
from .view import View, check_types, default_hints

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


# Opening, closing and deleting files.

_OPEN, _CLOSE, _DELETE = "MPI_File_open", "MPI_File_close", "MPI_File_delete"
_FIRST = 0  # the rank that makes and deletes the file


def open_file_of(comm: Communicator, filename: str, amode: int, info: Info | None, errhandler: Errhandler) -> File:
    """MPI_File_open. The first process opens the file before the others, and makes it if it must be
    made."""
    check_intra(comm, _OPEN)
    mode = check_mode(amode)
    hints = default_hints(comm.size).updated(info, comm.size)
    own = _own_communicator(comm, filename)
    same_everywhere(own, _OPEN, {"amode": amode, **hints.numbers()})
    disk = _open(own, filename, mode)
    file = File(own, filename, mode, disk, hints, errhandler)
    if Mode.APPEND in mode:
        file.position = file.shared.position = disk.size(_OPEN)
    return file


def _own_communicator(comm: Communicator, filename: str) -> Communicator:
    """The same processes. Attributes of the program's do not go along, and no leak report names
    it."""
    own = make(comm, comm.group, None)
    own.process.communicators.discard(own)
    own.name = f"the file {filename!r}"
    link = creation_link(comm, _OPEN)

    def steps() -> Steps:
        own.number_agreed((yield from agree(link)), link.call)

    launch(link, steps()).wait()
    return own


def _open(comm: Communicator, filename: str, mode: Mode) -> Disk:
    opened: list[Disk] = []

    def first() -> None:
        opened.append(open_file(comm.device, _OPEN, filename, mode))

    def others() -> None:
        opened.append(open_file(comm.device, _OPEN, filename, mode & ~(Mode.CREATE | Mode.EXCL)))

    try:
        together(comm, _OPEN, filename, first if comm.rank == _FIRST else None)
        together(comm, _OPEN, filename, others if comm.rank != _FIRST else None)
    except MpiError:
        for disk in opened:
            disk.close()
        raise
    return opened[0]


def close(file: File) -> None:
    """MPI_File_close: when all processes have come here."""
    file.check_no_split(_CLOSE)
    comm = file.comm
    together(comm, _CLOSE, file.name, None)
    file.shared.close()
    file.disk.close()
    comm.freed = True
    if Mode.DELETE_ON_CLOSE in file.mode:
        mine = comm.rank == _FIRST
        together(comm, _CLOSE, file.name, (lambda: delete_file(comm.device, _CLOSE, file.name)) if mine else None)


def delete(comm: Communicator, filename: str, info: Info | None) -> None:
    """MPI_File_delete, by any process alone."""
    delete_file(comm.device, _DELETE, filename)
