"""The state of an open file."""

from ..attributes import Errhandler
from ..communicator import Communicator
from ..errors import ErrorClass, MpiError
from ..request import Request
from .disk import Disk
from .modes import Mode
from .shared import SharedPointer
from .view import Hints, View


class Split:
    """A split collective between its begin and its end."""

    def __init__(self, call: str, request: Request) -> None:
        self.call = call  # of the begin
        self.request = request


class File:
    """MPI_File. `comm` is the library's own communicator of the processes that opened the file;
    `position` the individual pointer, in etypes of the view."""

    def __init__(
        self, comm: Communicator, filename: str, mode: Mode, disk: Disk, hints: Hints, errhandler: Errhandler
    ) -> None:
        self.comm = comm
        self.name = filename
        self.mode = mode
        self.disk = disk
        self.hints = hints
        self.errhandler = errhandler
        self.view = View()
        self.position = 0
        self.shared = SharedPointer(comm)
        self.atomic = False
        self.split: Split | None = None

    def check_readable(self, call: str) -> None:
        if Mode.WRONLY in self.mode:
            raise MpiError(ErrorClass.ACCESS, f"{call}: {self.name!r} was opened with MPI_MODE_WRONLY")

    def check_writable(self, call: str) -> None:
        if Mode.RDONLY in self.mode:
            raise MpiError(ErrorClass.READ_ONLY, f"{call}: {self.name!r} was opened with MPI_MODE_RDONLY")

    def check_random(self, call: str) -> None:
        """The call is not one of those that MPI_MODE_SEQUENTIAL leaves out."""
        if Mode.SEQUENTIAL in self.mode:
            raise MpiError(
                ErrorClass.UNSUPPORTED_OPERATION, f"{call}: {self.name!r} was opened with MPI_MODE_SEQUENTIAL"
            )

    def check_no_split(self, call: str) -> None:
        """No split collective is under way."""
        if self.split is not None:
            raise MpiError(ErrorClass.IO, f"{call}: {self.split.call} on {self.name!r} has not been ended")
