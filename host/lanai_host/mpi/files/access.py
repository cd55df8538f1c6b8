"""Reading and writing: every data access of MPI is one `Access`, which `run`, `start` or `begin`
and `end` carry out.

An independent access of one process is done by its own system calls at once, also where MPI calls
it nonblocking. An access that needs other processes (collective, by the shared pointer, in atomic
mode) is a schedule that goes on in the background.
"""

import enum
from collections.abc import Generator, Iterable
from typing import NamedTuple

from ...operation import Operation
from ..collectives.link import FILES, Link, next_tag
from ..collectives.schedule import Schedule, Steps
from ..communicator import CALL
from ..constants import Status
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..request import Request
from .file import File, Split
from .transfer import Buffer, read_runs, runs_of, write_runs
from .two_phase import Moved, read_all, write_all


class Where(enum.Enum):
    """The kind of position at which an access of a file begins."""

    EXPLICIT = "_at"
    INDIVIDUAL = ""
    SHARED = "_shared"


class Access(NamedTuple):
    """One of MPI's ways to read or write. `call` is the blocking function."""

    call: str
    writing: bool
    where: Where
    collective: bool


def _accesses() -> dict[str, Access]:
    found = {}
    for verb in ("read", "write"):
        for where in Where:
            for collective in (False, True):
                ordered = where is Where.SHARED and collective
                name = verb + ("_ordered" if ordered else where.value + ("_all" if collective else ""))
                found[name] = Access(f"MPI_File_{name}", verb == "write", where, collective)
    return found


ACCESSES = _accesses()  # by name, such as "read_at_all"


class FileRequest(Schedule):
    """An access under way."""

    def __init__(self, file: File, link: Link, access: "_Started") -> None:
        super().__init__(link, access.steps(link))
        self._file = file
        self._access = access

    @property
    def place(self) -> File:
        return self._file

    def status(self) -> Status:
        return Status(count=self._access.moved, error=self._error)


class _Started:
    """An access with its arguments. `moved`: bytes of data, once it is done."""

    def __init__(self, access: Access, file: File, call: str, buffer: Buffer, position: int) -> None:
        self.access, self.file, self.call, self.buffer, self.position = access, file, call, buffer, position
        self.moved = 0

    @property
    def alone(self) -> bool:
        """No other process takes part in it."""
        return not (self.access.collective or self.access.where is Where.SHARED or self.file.atomic)

    def perform(self) -> None:
        """By this process's own system calls."""
        runs = runs_of(self.file, self.buffer, self.position, self.access.writing)
        self.moved = (write_runs if self.access.writing else read_runs)(self.file, self.buffer, runs)

    def steps(self, link: Link) -> Steps:
        if self.access.where is Where.SHARED:
            self.position = yield from self._place(link)
        if self.access.collective:
            self.moved = yield from self._together(link)
        elif self.file.atomic:
            yield from self.file.shared.lock(link)
            try:
                self.perform()
            finally:
                self.file.shared.unlock(link)
        else:
            self.perform()

    def _place(self, link: Link) -> Generator[Iterable[Operation], None, int]:
        if not self.access.collective:
            return (yield from self.file.shared.add(link, self.buffer.units))
        return (yield from self.file.shared.in_order(link, self.buffer.units))

    def _together(self, link: Link) -> Moved:
        runs = runs_of(self.file, self.buffer, self.position, self.access.writing)
        return (yield from (write_all if self.access.writing else read_all)(link, self.file, self.buffer, runs))


def run(access: Access, file: File, address: int, count: int, datatype: Datatype, offset: int = 0) -> Status:
    """The blocking call."""
    started = _checked(access, file, access.call, address, count, datatype, offset)
    if started.alone:
        with file.comm.lock:
            file.comm.device.charge(CALL)
            started.perform()
    else:
        _launch(started, background=False).wait()
    if access.where is Where.INDIVIDUAL:
        unit = max(1, file.view.etype.size)
        file.position += -(-started.moved // unit)
    return Status(count=started.moved)


def start(access: Access, file: File, address: int, count: int, datatype: Datatype, offset: int = 0) -> Request:
    """The nonblocking call."""
    started = _checked(access, file, _nonblocking(access), address, count, datatype, offset)
    return _moved_on(started, _launch(started, background=True))


def begin(access: Access, file: File, address: int, count: int, datatype: Datatype, offset: int = 0) -> None:
    """The first half of a split collective."""
    call = f"{access.call}_begin"
    started = _checked(access, file, call, address, count, datatype, offset)
    file.split = Split(call, _moved_on(started, _launch(started, background=True)))


def end(access: Access, file: File) -> Status:
    """The second half."""
    call, split = f"{access.call}_end", file.split
    if split is None or split.call != f"{access.call}_begin":
        under_way = "no split collective is under way" if split is None else f"{split.call} is under way"
        raise MpiError(ErrorClass.IO, f"{call}: {under_way} on {file.name!r}")
    file.split = None
    return split.request.wait()


def _nonblocking(access: Access) -> str:
    return access.call.replace("MPI_File_", "MPI_File_i")


def _checked(
    access: Access, file: File, call: str, address: int, count: int, datatype: Datatype, offset: int
) -> _Started:
    buffer = Buffer(file, call, address, count, datatype)
    (file.check_writable if access.writing else file.check_readable)(call)
    if access.where is not Where.SHARED:
        file.check_random(call)
    if access.collective:
        file.check_no_split(call)
    if offset < 0:
        raise MpiError(ErrorClass.ARG, f"{call}: offset is {offset}; it must not be negative")
    return _Started(access, file, call, buffer, offset if access.where is Where.EXPLICIT else file.position)


def _launch(started: _Started, background: bool) -> FileRequest:
    file = started.file
    tag = next_tag(file.comm, FILES, background) if started.access.collective else 0
    request = FileRequest(file, Link(file.comm, started.call, tag), started)
    with file.comm.lock:
        file.comm.device.charge(CALL)
        file.comm.progress.start(request)
    return request


def _moved_on(started: _Started, request: Request) -> Request:
    """The individual pointer moves when the access begins."""
    if started.access.where is Where.INDIVIDUAL:
        started.file.position += started.buffer.units
    return request
