"""Opening, closing and deleting files."""

from ..agreement import agree
from ..arguments import check_intra
from ..collectives.calls import launch
from ..collectives.schedule import Steps
from ..communicator import Communicator
from ..errhandler import Errhandler
from ..errors import MpiError
from ..info import Info
from ..making import creation_link, make
from .disk import Disk, delete_file, open_file
from .file import File
from .hints import default_hints
from .members import same_everywhere, together
from .modes import Mode, check_mode

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
