"""A file of the real file system, reached by this process's own system calls.

Each call is charged to the device as host work (`HostCost.FILE_OPEN`, `FILE_CALL`, `FILE_BYTE`,
`FILE_SYNC`): the time that it takes on the machine that simulates has no influence. What the kernel
refuses is an `MpiError` of the class that MPICH gives.
"""

import enum
import errno
import os
import re
import stat
from collections.abc import Callable, Generator, Iterable, Sequence
from types import TracebackType
from typing import Final

import numpy as np

from ...config import HostCost
from ...device import Device
from ...operation import Operation
from ..collectives import allgather
from ..collectives.checks import Part
from ..collectives.link import FILES, Link, next_tag
from ..collectives.schedule import Steps, launch
from ..communicator import Communicator
from ..constants import IN_PLACE
from ..datatypes import BYTE
from ..errors import ErrorClass, MpiError
from ..memory import address_of, zeros

# The modes in which a file is opened, and the origins of a pointer's moves: MPICH's numbers, as everywhere inside
# the library.


DISPLACEMENT_CURRENT: Final = -54278278  # MPI_DISPLACEMENT_CURRENT


class Mode(enum.IntFlag):
    """The bits of `amode`."""

    CREATE = 1
    RDONLY = 2
    WRONLY = 4
    RDWR = 8
    DELETE_ON_CLOSE = 16
    UNIQUE_OPEN = 32
    EXCL = 64
    APPEND = 128
    SEQUENTIAL = 256


class Whence(enum.IntEnum):
    """The position that an offset is relative to."""

    SET = 600
    CUR = 602
    END = 604


def check_mode(amode: int) -> Mode:
    """The bits of an `amode` that MPI_File_open takes."""
    mode = Mode(amode & sum(Mode))
    if amode < 0 or amode != mode:
        raise _refused(amode, "it has bits that no MPI_MODE_ constant has")
    if sum(one in mode for one in _ACCESS) != 1:
        raise _refused(amode, "it must have one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR")
    if Mode.RDONLY in mode and (Mode.CREATE in mode or Mode.EXCL in mode):
        raise _refused(amode, "MPI_MODE_RDONLY excludes MPI_MODE_CREATE and MPI_MODE_EXCL")
    if Mode.RDWR in mode and Mode.SEQUENTIAL in mode:
        raise _refused(amode, "MPI_MODE_RDWR excludes MPI_MODE_SEQUENTIAL")
    return mode


def _refused(amode: int, why: str) -> MpiError:
    return MpiError(ErrorClass.AMODE, f"MPI_File_open: amode is {amode}; {why}")


_CLASSES = {
    errno.EACCES: ErrorClass.ACCESS,
    errno.EPERM: ErrorClass.ACCESS,
    errno.EDQUOT: ErrorClass.QUOTA,
    errno.EEXIST: ErrorClass.FILE_EXISTS,
    errno.EFAULT: ErrorClass.BUFFER,
    errno.EISDIR: ErrorClass.BAD_FILE,
    errno.ELOOP: ErrorClass.BAD_FILE,
    errno.ENAMETOOLONG: ErrorClass.BAD_FILE,
    errno.ENOENT: ErrorClass.NO_SUCH_FILE,
    errno.ENOSPC: ErrorClass.NO_SPACE,
    errno.ENOTDIR: ErrorClass.BAD_FILE,
    errno.EOPNOTSUPP: ErrorClass.UNSUPPORTED_OPERATION,
    errno.EROFS: ErrorClass.READ_ONLY,
    errno.ETXTBSY: ErrorClass.FILE_IN_USE,
}
_FILE_SYSTEM = re.compile(r"(?:ufs|nfs|xfs|testfs):")  # ROMIO's way to name a file system before the path
_ACCESS = {Mode.RDONLY: os.O_RDONLY, Mode.WRONLY: os.O_WRONLY, Mode.RDWR: os.O_RDWR}


class FileError(MpiError):
    """A system call failed; `number` is its `errno`, from which every process can make the same
    error."""

    def __init__(self, call: str, filename: str, number: int) -> None:
        super().__init__(_CLASSES.get(number, ErrorClass.IO), f"{call}: {filename!r}: {os.strerror(number)}")
        self.number = number


def path_of(filename: str) -> str:
    """The path in a file name, without ROMIO's prefix for the kind of file system."""
    return _FILE_SYSTEM.sub("", filename, count=1)


class Disk:
    """One open file. `call` is the MPI function that errors name."""

    def __init__(self, device: Device, filename: str, descriptor: int) -> None:
        self.filename = filename
        self._device = device
        self._descriptor = descriptor

    def size(self, call: str) -> int:
        self._device.charge(HostCost.FILE_CALL)
        try:
            return os.fstat(self._descriptor).st_size
        except OSError as error:
            raise self._failed(call, error) from None

    def truncate(self, call: str, size: int) -> None:
        self._device.charge(HostCost.FILE_CALL)
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise self._failed(call, error) from None

    def allocate(self, call: str, size: int) -> None:
        """Reserve room for the first `size` bytes. A file that is longer stays as it is."""
        if size == 0:
            return
        self._device.charge(HostCost.FILE_CALL)
        try:
            os.posix_fallocate(self._descriptor, 0, size)
        except OSError as error:
            raise self._failed(call, error) from None

    def synchronize(self, call: str) -> None:
        """Bring the written data to the disk."""
        self._device.charge(HostCost.FILE_SYNC)
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EROFS):  # special files have nothing to write back
                raise self._failed(call, error) from None

    def read(self, call: str, into: memoryview, offset: int) -> int:
        """Fill `into` from the file; how many bytes there were before its end."""
        done = 0
        while done < len(into):
            self._device.charge(HostCost.FILE_CALL)
            try:
                step = os.preadv(self._descriptor, [into[done:]], offset + done)
            except OSError as error:
                raise self._failed(call, error) from None
            if step == 0:
                break
            done += step
        self._device.charge(HostCost.FILE_BYTE, done)
        return done

    def write(self, call: str, data: memoryview, offset: int) -> None:
        done = 0
        while done < len(data):
            self._device.charge(HostCost.FILE_CALL)
            try:
                done += os.pwrite(self._descriptor, data[done:], offset + done)
            except OSError as error:
                raise self._failed(call, error) from None
        self._device.charge(HostCost.FILE_BYTE, done)

    def close(self) -> None:
        self._device.charge(HostCost.FILE_CALL)
        os.close(self._descriptor)

    def _failed(self, call: str, error: OSError) -> FileError:
        return FileError(call, self.filename, error.errno or errno.EIO)


def open_file(device: Device, call: str, filename: str, mode: Mode) -> Disk:
    """Open a file by its name."""
    device.charge(HostCost.FILE_OPEN)
    flags = next(flag for one, flag in _ACCESS.items() if one in mode) | os.O_CLOEXEC
    flags |= os.O_CREAT if Mode.CREATE in mode else 0
    flags |= os.O_EXCL if Mode.EXCL in mode else 0
    try:
        descriptor = os.open(path_of(filename), flags, 0o666)
    except OSError as error:
        raise FileError(call, filename, error.errno or errno.EIO) from None
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):  # the kernel opens one for reading
        os.close(descriptor)
        raise FileError(call, filename, errno.EISDIR)
    return Disk(device, filename, descriptor)


def delete_file(device: Device, call: str, filename: str) -> None:
    """Remove a file by its name."""
    device.charge(HostCost.FILE_OPEN)
    try:
        os.unlink(path_of(filename))
    except OSError as error:
        raise FileError(call, filename, error.errno or errno.EIO) from None


# The common parts of the collective calls on files: collecting values of all members, and failing together.

_WORD = np.dtype(np.int64)

Rows = list[list[int]]
Hearing = Generator[Iterable[Operation], None, Rows]


def everyones(link: Link, values: Sequence[int]) -> Hearing:
    """The values of each member, by rank."""
    table = zeros((link.size, len(values)), _WORD)
    table[link.rank] = values
    address, size = address_of(table), _WORD.itemsize * len(values)
    yield from allgather.describe(link, Part(IN_PLACE, 0, BYTE), Part(address, size, BYTE))
    rows: Rows = table.tolist()
    return rows


def hear(comm: Communicator, call: str, values: Sequence[int]) -> Rows:
    """The same as a blocking call."""
    link = Link(comm, call, next_tag(comm, FILES, background=False))
    heard: list[Rows] = []

    def steps() -> Steps:
        heard.append((yield from everyones(link, values)))

    launch(link, steps()).wait()
    return heard[0]


def same_everywhere(comm: Communicator, call: str, values: dict[str, int]) -> None:
    """All members passed the same arguments, given by name."""
    rows = hear(comm, call, list(values.values()))
    for (name, value), column in zip(values.items(), zip(*rows, strict=True), strict=True):
        if len(set(column)) > 1:
            raise MpiError(
                ErrorClass.NOT_SAME,
                f"{call}: {name} is {value} here; it must be the same on all processes, and there are "
                f"{', '.join(map(str, sorted(set(column))))}",
            )


class Trouble:
    """Keeps the first error of this process's system calls until all processes have met: `with
    trouble: ...`."""

    def __init__(self) -> None:
        self.error: FileError | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        if not isinstance(error, FileError):
            return False
        self.error = self.error or error
        return True

    @property
    def number(self) -> int:
        """The number that the others receive: 0, or that of the error."""
        return 0 if self.error is None else self.error.number

    def settle(self, call: str, filename: str, numbers: Iterable[int]) -> None:
        """Raise the own error, or that of the first process that has one; `numbers` are what each
        said."""
        if self.error is not None:
            raise self.error
        number = next(filter(None, numbers), 0)
        if number:
            raise FileError(call, filename, number)


def together(comm: Communicator, call: str, filename: str, work: Callable[[], None] | None) -> None:
    """Each member does its `work`, if it has any. If one fails, all do."""
    trouble = Trouble()
    with trouble:
        if work is not None:
            work()
    trouble.settle(call, filename, (row[0] for row in hear(comm, call, [trouble.number])))
